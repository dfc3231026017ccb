import type * as Sqlite from 'node:sqlite'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  GatewayError,
  loadSqlite,
  makeDirectorySync,
  reasonOf,
  sqlCode,
  SqlDatabase,
} from '../../../src/plugin.ts'
import { vaultError } from './errors.ts'

/** `tgrt`, in the header of the file: what else is a database is not ours. */
const APPLICATION_ID = 0x74677274
/** Of the tables below. */
const VERSION = 1
const BUSY_MS = 2000

/** Times are milliseconds since 1970; each `value` is sealed for its row. `counter` has the last generation. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE counter (last INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (0);
CREATE TABLE proof (value BLOB NOT NULL) STRICT;
CREATE TABLE grants (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  generation INTEGER NOT NULL,
  at INTEGER NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE lost (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  at INTEGER NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE registrations (
  issuer TEXT NOT NULL,
  redirect TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (issuer, redirect)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending (
  state TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  until INTEGER NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_by_account ON pending (account);
`

/** Opens the database, for its owner alone; in memory without a path. A file that is no good stays as it is. @throws GatewayError GW_VAULT_* */
export function openDatabase(path: string | undefined): SqlDatabase {
  const file = fileOf(path)
  return told(file, () => {
    if (path !== undefined) prepareFile(path)
    const database = new (loadSqlite().DatabaseSync)(path ?? ':memory:')
    try {
      // A refresh token that was rotated is on the disk before its token is used: FULL syncs each commit.
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        PRAGMA secure_delete = ON`)
      migrate(database, file)
      return new SqlDatabase(database)
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Makes the file where there is none; one that is another user's is not used. */
function prepareFile(path: string): void {
  const directory = dirname(path)
  if (makeDirectorySync(directory, 0o700) !== undefined) chmodSync(directory, 0o700)
  const descriptor = openSync(path, 'a', 0o600)
  try {
    const own = process.getuid?.()
    if (own === undefined) return
    const { mode, uid } = fstatSync(descriptor)
    if (uid !== own) throw vaultError('GW_VAULT_DISK', { file: path, why: 'it belongs to another user' })
    if ((mode & 0o077) !== 0) fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
}

function migrate(database: Sqlite.DatabaseSync, file: string): void {
  const first = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0]
  database.exec('BEGIN IMMEDIATE')
  try {
    const isNew = first('SELECT count(*) FROM sqlite_master') === 0
    if (isNew) database.exec(SCHEMA)
    else if (first('PRAGMA application_id') !== APPLICATION_ID)
      throw vaultError('GW_VAULT_DAMAGED', { file, why: 'it is another database' })
    else if (first('PRAGMA user_version') !== VERSION)
      throw vaultError('GW_VAULT_DAMAGED', { file, why: 'another version of the gateway has written it' })
    database.exec('COMMIT')
    const check = isNew ? 'ok' : String(first('PRAGMA quick_check(1)'))
    if (check !== 'ok') throw vaultError('GW_VAULT_DAMAGED', { file, why: check })
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Result codes of SQLite that say that the file itself is no good. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** Name of the file, for people. */
export function fileOf(path: string | undefined): string {
  return path ?? 'memory'
}

/** Does something with the file; what goes wrong is said in the words of the table. */
export function told<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    const isDamaged = DAMAGED.has(sqlCode(cause) ?? 0)
    throw vaultError(isDamaged ? 'GW_VAULT_DAMAGED' : 'GW_VAULT_DISK', { file, why: reasonOf(cause), cause })
  }
}
