import type * as Sqlite from 'node:sqlite'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { isSqlBusy, loadSqlite, makeDirectorySync, reasonOf, type Log } from '../../../src/plugin.ts'

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
    if (isSqlBusy(error)) throw error
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
