import type * as Sqlite from 'node:sqlite'
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Log, reasonOf } from '../../../src/plugin.ts'
import { makeDirectorySync } from '../../../src/plugin.ts'

/** `tgag`, in the header of the file: what else is a database is not ours. */
const APPLICATION_ID = 0x74676167

/** Of the tables below; a file of another version is set aside. */
const VERSION = 1

/** Times are milliseconds since 1970; `data` is JSON that only the runner of the task writes. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL,
  why TEXT,
  agent TEXT,
  runner TEXT,
  key TEXT,
  root TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  ended INTEGER,
  prompted INTEGER NOT NULL DEFAULT 0,
  effect INTEGER NOT NULL DEFAULT 0,
  start TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_by_key ON tasks (owner, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, created, id);
CREATE INDEX tasks_by_root ON tasks (root);
CREATE INDEX tasks_by_end ON tasks (ended);
CREATE TABLE events (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunks (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  what TEXT NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (task, what, offset)
) STRICT;
CREATE TABLE questions (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  message TEXT NOT NULL,
  schema TEXT NOT NULL,
  answer TEXT,
  PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  agent TEXT NOT NULL,
  failure TEXT,
  PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (agent TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX turns_by_agent ON turns (agent, at);
CREATE TABLE days (
  agent TEXT NOT NULL,
  day TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (agent, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE runners (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  born TEXT NOT NULL,
  beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

const BUSY_MS = 2000

/** Larger files are not looked through page by page before they are used. */
const MAX_CHECKED = 64 * 1024 * 1024

export type Row = Record<string, SQLOutputValue>

/** A database with its statements, each compiled once. */
export class Database {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Number of rows that were changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values)
  }

  /** All of it or nothing, and nobody in between. */
  whole<T>(work: () => T): T {
    if (this.#database.isTransaction) return work()
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  /** The same for what need not outlive a loss of power: output that comes in pieces. */
  wholeSoon(work: () => void): void {
    this.#database.exec('PRAGMA synchronous = NORMAL')
    try {
      this.whole(work)
    } finally {
      this.#database.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Another number when another connection has written. */
  version(): number {
    return numberOf(this.get('PRAGMA data_version')?.data_version)
  }

  get isOpen(): boolean {
    return this.#database.isOpen
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)))
    return statement
  }
}

/** A column as a number; 0 for what is none. */
export function numberOf(value: SQLOutputValue | undefined): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}

/** A column as text; undefined for NULL. */
export function textOf(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/**
 * The database of the tasks, for its owner alone; in memory without a path. What is no such database is set aside.
 * @throws Error when there can be none at that path
 */
export function openDatabase(path: string | undefined, log: Log): Sqlite.DatabaseSync {
  if (path === undefined) return prepared(':memory:')
  const directory = dirname(path)
  if (makeDirectorySync(directory, 0o700) !== undefined) chmodSync(directory, 0o700)
  const wrong = wrongWith(path)
  if (wrong !== undefined) setAside(path, wrong, log)
  try {
    return prepared(path)
  } catch (error) {
    if (isBusy(error)) throw error
    setAside(path, reasonOf(error), log)
    wrongWith(path)
    return prepared(path)
  }
}

/** Makes the file where there is none, and says why one that is there cannot be trusted. */
function wrongWith(path: string): string | undefined {
  const file = openSync(path, 'a', 0o600)
  try {
    const { mode, uid } = fstatSync(file)
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0))
      return 'others than the user of this process can write it'
    fchmodSync(file, 0o600)
    return undefined
  } finally {
    closeSync(file)
  }
}

function prepared(path: string): Sqlite.DatabaseSync {
  const database = new (loadSqlite().DatabaseSync)(path)
  try {
    // A task is on the disk before its caller hears of it: FULL syncs each commit.
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON`)
    migrate(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function migrate(database: Sqlite.DatabaseSync): void {
  const number = (pragma: string): number => Number(Object.values(database.prepare(pragma).get() ?? {})[0])
  database.exec('BEGIN IMMEDIATE')
  try {
    const isNew = number('SELECT count(*) FROM sqlite_master') === 0
    if (isNew) database.exec(SCHEMA)
    else if (number('PRAGMA application_id') !== APPLICATION_ID) throw new Error('it is no database of tasks')
    else if (number('PRAGMA user_version') !== VERSION) throw new Error('it is of another version')
    database.exec('COMMIT')
    const isSmall = number('PRAGMA page_count') * number('PRAGMA page_size') <= MAX_CHECKED
    const check = isNew || !isSmall ? undefined : database.prepare('PRAGMA quick_check(1)').get()
    const found = check === undefined ? 'ok' : String(Object.values(check)[0])
    if (found !== 'ok') throw new Error(`it is damaged: ${found}`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function setAside(path: string, why: string, log: Log): void {
  const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`
  log.warn('the tasks that were kept cannot be read; the file is set aside, and a new one begun', {
    file: path,
    aside,
    why,
  })
  renameSync(path, aside)
  for (const suffix of ['-wal', '-shm']) {
    try {
      renameSync(path + suffix, aside + suffix)
    } catch {
      rmSync(path + suffix, { force: true })
    }
  }
}

/** Another gateway holds it for the moment: no reason to give it up. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && ((code & 0xff) === 5 || (code & 0xff) === 6)
}

/** Loaded when it is needed. Older Nodes call it experimental on stderr, which is of no use to who runs a gateway. */
function loadSqlite(): typeof Sqlite {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
