import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

export type Row = Record<string, SQLOutputValue>

/** A database with its statements, each compiled once. */
export class Database {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** How many rows were changed. */
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
