import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import { makeDirectorySync } from '../../src/plugin.ts'
import type { CallRecord } from './call-record.ts'

/** Schema version. Files with other versions are set aside, except the previous one, which only lacks a column. */
const FORM = 2
const BEFORE = 1
const PAGE_BYTES = 4096
/** Share deleted when the file is full, as 1/n. */
const PART = 10

const COLUMNS = [
  'at',
  'ms',
  'method',
  'name',
  'upstream',
  'principal',
  'scopes',
  'client',
  'era',
  'session',
  'profile',
  'outcome',
  'code',
  'by',
  'bytesIn',
  'bytesOut',
  'shape',
  'args',
  'times',
] as const satisfies readonly (keyof CallRecord)[]

const TABLE = `CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, ms REAL NOT NULL,
  method TEXT NOT NULL, name TEXT NOT NULL, upstream TEXT NOT NULL, principal TEXT NOT NULL, scopes TEXT NOT NULL,
  client TEXT NOT NULL, era TEXT NOT NULL, session TEXT NOT NULL, profile TEXT NOT NULL, outcome TEXT NOT NULL,
  code INTEGER NOT NULL, by TEXT NOT NULL, bytesIn INTEGER NOT NULL, bytesOut INTEGER NOT NULL, shape TEXT NOT NULL,
  args TEXT NOT NULL, times TEXT NOT NULL DEFAULT '');
  CREATE INDEX IF NOT EXISTS calls_at ON calls (at);`

/** Retention limits. */
export interface ActivityLimits {
  readonly keepMs: number
  readonly maxCalls: number
  readonly maxBytes: number
}

/** Database handle for writing. Fails on locks instead of waiting; the writer retries later. */
export class ActivityDatabase {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync

  constructor(database: DatabaseSync, maxBytes: number) {
    this.#database = database
    database.exec(`PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
      PRAGMA journal_size_limit = 4194304; PRAGMA max_page_count = ${Math.max(Math.floor(maxBytes / PAGE_BYTES), 64)}`)
    const { user_version: form } = database.prepare('PRAGMA user_version').get() ?? {}
    if (form !== 0 && form !== BEFORE && form !== FORM)
      throw new Error(`the file has schema version ${String(form)}, expected ${FORM}`)
    if (form !== FORM) migrateTable(database)
    const marks = COLUMNS.map(() => '?').join(', ')
    this.#insert = database.prepare(`INSERT INTO calls (${COLUMNS.join(', ')}) VALUES (${marks})`)
  }

  /** Inserts records in one transaction. */
  write(records: readonly CallRecord[]): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      for (const record of records) this.#insert.run(...COLUMNS.map(column => record[column]))
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  /** Deletes records that exceed the age or count limit. */
  prune({ keepMs, maxCalls }: ActivityLimits, now: number): void {
    this.#database.prepare('DELETE FROM calls WHERE at < ?').run(now - keepMs)
    this.#database.prepare('DELETE FROM calls WHERE id <= (SELECT max(id) - ? FROM calls)').run(maxCalls)
  }

  /** Deletes the oldest tenth when the file is full. */
  pruneOldest(): void {
    const { first, last } = this.#database.prepare('SELECT min(id) AS first, max(id) AS last FROM calls').get() ?? {}
    const part = Math.ceil((Number(last ?? 0) - Number(first ?? 0) + 1) / PART)
    this.#database.prepare('DELETE FROM calls WHERE id < ?').run(Number(first ?? 0) + part)
  }

  close(): void {
    this.#database.close()
  }
}

/** Opens the database for writing, readable only by its owner. */
export function openActivityDatabase(path: string, maxBytes: number): ActivityDatabase {
  makeDirectorySync(dirname(path), 0o700)
  // SQLite would create the file with default permissions.
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    return new ActivityDatabase(database, maxBytes)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Classifies a SQLite error. */
export function classifyError(error: unknown): 'busy' | 'full' | 'damaged' | 'other' {
  const code = (error as { errcode?: unknown }).errcode
  const primary = typeof code === 'number' ? code & 0xff : undefined
  if (primary === 5 || primary === 6) return 'busy'
  if (primary === 13) return 'full'
  if (primary === 11 || primary === 26) return 'damaged'
  return error instanceof Error && error.message.startsWith('the file has schema version') ? 'damaged' : 'other'
}

/** Creates or upgrades the table; another process may do the same concurrently. */
function migrateTable(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const { user_version: form } = database.prepare('PRAGMA user_version').get() ?? {}
    if (form === BEFORE) database.exec("ALTER TABLE calls ADD COLUMN times TEXT NOT NULL DEFAULT ''")
    else database.exec(TABLE)
    database.exec(`PRAGMA user_version = ${FORM}; COMMIT`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
