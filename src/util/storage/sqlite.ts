import type * as Sqlite from 'node:sqlite'
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/** A row as it was read. */
export type SqlRow = Record<string, SQLOutputValue>

/** A database with its statements, each compiled once. */
export class SqlDatabase {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Number of rows that were changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  get(sql: string, ...values: SQLInputValue[]): SqlRow | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): SqlRow[] {
    return this.#statement(sql).all(...values)
  }

  /** All of it or nothing, and nobody in between. */
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

  /** The same for what need not outlive a loss of power: output that comes in pieces. */
  runTransactionUnsynced(work: () => void): void {
    this.#database.exec('PRAGMA synchronous = NORMAL')
    try {
      this.runTransaction(work)
    } finally {
      this.#database.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Another number when another connection has written. */
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

/** A column as a number; 0 for what is none. */
export function getSqlNumber(value: SQLOutputValue | undefined): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}

/** A column as text; undefined for NULL. */
export function getSqlText(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** True where another connection holds it for the moment: no reason to give it up. */
export function isSqlBusy(error: unknown): boolean {
  const code = getSqlCode(error)
  return code === 5 || code === 6
}

/** Primary result code of SQLite in what was thrown; undefined for anything else. */
export function getSqlCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Loaded when it is needed. Older Nodes call it experimental on stderr, which is of no use to who runs a gateway. */
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
