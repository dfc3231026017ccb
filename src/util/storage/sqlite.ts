import type * as Sqlite from 'node:sqlite'
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/** Database row. */
export type SqlRow = Record<string, SQLOutputValue>

/** Database with cached prepared statements. */
export class SqlDatabase {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Runs a statement; returns the changed row count. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  get(sql: string, ...values: SQLInputValue[]): SqlRow | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): SqlRow[] {
    return this.#statement(sql).all(...values)
  }

  /** Runs work in a write transaction, and rolls it back if it throws. */
  runTransaction<T>(work: () => T): T {
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

  /** Runs a transaction that may be lost on power failure, for incremental output. */
  runTransactionUnsynced(work: () => void): void {
    this.#database.exec('PRAGMA synchronous = NORMAL')
    try {
      this.runTransaction(work)
    } finally {
      this.#database.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Returns a version that changes when another connection has written. */
  getVersion(): number {
    return getSqlNumber(this.get('PRAGMA data_version')?.data_version)
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

/** Returns a column as a number; 0 for other types. */
export function getSqlNumber(value: SQLOutputValue | undefined): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}

/** Returns a column as text; undefined for NULL. */
export function getSqlText(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns true if another connection holds the lock; the operation can be retried. */
export function isSqlBusy(error: unknown): boolean {
  const code = getSqlCode(error)
  return code === 5 || code === 6
}

/** Returns SQLite's primary result code from an error; undefined for other errors. */
export function getSqlCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Loads SQLite on demand and hides the experimental warning of older Node versions on stderr. */
export function loadSqlite(): typeof Sqlite {
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
