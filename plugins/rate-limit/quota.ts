import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makeDirectorySync } from '../../src/plugin.ts'

const BUSY_MS = 2000
const DAY_MS = 86_400_000

/**
 * Counts of days, in a file. Each count is with the operating system before the call goes on, so that no end of the
 * process loses one; only a machine that loses its power may.
 */
export class Quotas {
  readonly #database: DatabaseSync
  readonly #find: StatementSync
  readonly #add: StatementSync
  readonly #drop: StatementSync
  #day = ''

  constructor(database: DatabaseSync) {
    this.#database = database
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS quota (day TEXT, rule TEXT, key TEXT, used INTEGER NOT NULL,
        PRIMARY KEY (day, rule, key)) WITHOUT ROWID`)
    this.#find = database.prepare('SELECT used FROM quota WHERE day = ? AND rule = ? AND key = ?')
    // One statement, so that two generations, or two processes, never count the same one.
    this.#add = database.prepare(`INSERT INTO quota VALUES (?, ?, ?, 1)
      ON CONFLICT DO UPDATE SET used = used + 1 WHERE used < ?`)
    this.#drop = database.prepare('DELETE FROM quota WHERE day < ?')
  }

  /** True if one more is allowed today. */
  hasRoom(rule: string, key: string, max: number, now: number): boolean {
    const row = this.#find.get(this.#today(now), rule, key)
    return row === undefined || Number(row.used) < max
  }

  /** Counts one; false when another has taken the last meanwhile. */
  take(rule: string, key: string, max: number, now: number): boolean {
    return this.#add.run(this.#today(now), rule, key, max).changes === 1
  }

  close(): void {
    this.#database.close()
  }

  #today(now: number): string {
    const day = new Date(now).toISOString().slice(0, 10)
    if (day !== this.#day) {
      this.#day = day
      // Yesterday is kept: a clock that is set back must not give it anew.
      this.#drop.run(new Date(now - DAY_MS).toISOString().slice(0, 10))
    }
    return day
  }
}

/** Opens the counts in a directory, which is made for the owner alone where there is none. */
export function openQuotas(directory: string): Quotas {
  makeDirectorySync(directory, 0o700)
  const database = new DatabaseSync(join(directory, 'quota.sqlite'))
  try {
    return new Quotas(database)
  } catch (error) {
    database.close()
    throw error
  }
}
