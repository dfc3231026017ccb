import type * as Sqlite from 'node:sqlite'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  gatewayError,
  isSqlBusy,
  loadSqlite,
  makeDirectorySync,
  reasonOf,
  type Log,
} from '../../../src/plugin.ts'

/** `tgag`, in the header of the file: what else is a database is not ours. */
const APPLICATION_ID = 0x74676167

/** Of the tables below; a file of another version is set aside. */
const VERSION = 2

/** Times are milliseconds since 1970. `output` has events by their number, text and diff in pieces by their offset. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL,
  why TEXT,
  agent TEXT,
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
CREATE TABLE output (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  what TEXT NOT NULL,
  at INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (task, what, at)
) STRICT;
`

/** Another gateway may be about to stop. */
const BUSY_MS = 2000

/**
 * The database of the tasks, for this process alone as long as it is open; in memory without a path. What is no such database
 * is set aside. @throws GatewayError GW_UPSTREAM_DOWN while another gateway has it, Error when there can be none at that path
 */
export function openDatabase(path: string | undefined, log: Log): Sqlite.DatabaseSync {
  if (path === undefined) return prepare(':memory:')
  const directory = dirname(path)
  if (makeDirectorySync(directory, 0o700) !== undefined) chmodSync(directory, 0o700)
  try {
    checkFile(path)
    return prepare(path)
  } catch (error) {
    if (isSqlBusy(error)) {
      const why = `another gateway works on its tasks: ${path} is locked`
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: 'agents', why })
    }
    setAside(path, reasonOf(error), log)
    checkFile(path)
    return prepare(path)
  }
}

/** Makes the file if there is none. @throws Error for one that others may have written */
function checkFile(path: string): void {
  const file = openSync(path, 'a', 0o600)
  try {
    const { mode, uid } = fstatSync(file)
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0))
      throw new Error('others than the user of this process can write it')
    fchmodSync(file, 0o600)
  } finally {
    closeSync(file)
  }
}

function prepare(path: string): Sqlite.DatabaseSync {
  const database = new (loadSqlite().DatabaseSync)(path)
  const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0])
  try {
    // A task is on the disk before its caller hears of it: FULL syncs each commit. One process runs the tasks of a file.
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE`)
    if (number('SELECT count(*) FROM sqlite_master') === 0) database.exec(SCHEMA)
    else if (number('PRAGMA application_id') !== APPLICATION_ID) throw new Error('it is no database of tasks')
    else if (number('PRAGMA user_version') !== VERSION) throw new Error('it is of another version')
    database.exec('COMMIT')
    return database
  } catch (error) {
    database.close()
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
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
}
