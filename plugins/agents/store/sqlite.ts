import { chmodSync, closeSync, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type * as Sqlite from 'node:sqlite'
import { reasonOf, type Log } from '../../../src/plugin.ts'
import { APPLICATION_ID, SCHEMA, VERSION } from './schema.ts'

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
  if (mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(directory, 0o700)
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
