import { sqlNumber, type SqlDatabase } from '../../../src/plugin.ts'
import type { AgentSettings } from '../types/settings.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

type Limits = Pick<AgentSettings['limits'], 'perMinute' | 'perDay'>

/** Rest of a limit; undefined where there is none. */
interface Left {
  readonly perMinute: number | undefined
  readonly perDay: number | undefined
}

/** The limit that is spent, and in how many milliseconds there is room again. */
interface Spent {
  readonly limit: 'perMinute' | 'perDay'
  readonly retryAfterMs: number
}

/** Counts the turns of each agent on disk: neither an end of the gateway nor a second one gives any anew. */
export class TurnCounts {
  readonly #database: SqlDatabase
  readonly #now: () => number

  constructor(database: SqlDatabase, now: () => number) {
    this.#database = database
    this.#now = now
  }

  /** Counts one turn, or says which limit forbids it. */
  take(agent: string, limits: Limits): Spent | undefined {
    const now = this.#now()
    return this.#database.whole(() => {
      const spent = this.spent(agent, limits)
      if (spent !== undefined) return spent
      if (limits.perMinute !== undefined) {
        this.#database.run('DELETE FROM turns WHERE agent = ? AND at <= ?', agent, now - MINUTE_MS)
        this.#database.run('INSERT INTO turns VALUES (?, ?)', agent, now)
      }
      if (limits.perDay !== undefined) this.#countDay(agent, now)
      return undefined
    })
  }

  spent(agent: string, limits: Limits): Spent | undefined {
    const now = this.#now()
    const { perMinute, perDay } = this.left(agent, limits)
    if (perDay === 0) return { limit: 'perDay', retryAfterMs: DAY_MS - (now % DAY_MS) }
    if (perMinute === undefined || perMinute > 0) return undefined
    // Room is there again when all but one less than the limit have left the window.
    const sql = 'SELECT at FROM turns WHERE agent = ? ORDER BY at DESC LIMIT 1 OFFSET ?'
    const leaves = this.#database.get(sql, agent, (limits.perMinute ?? 1) - 1)
    return {
      limit: 'perMinute',
      retryAfterMs: Math.max(1, Math.min(sqlNumber(leaves?.at) + MINUTE_MS - now, MINUTE_MS)),
    }
  }

  left(agent: string, { perMinute, perDay }: Limits): Left {
    return {
      perMinute: perMinute === undefined ? undefined : Math.max(0, perMinute - this.#inMinute(agent)),
      perDay: perDay === undefined ? undefined : Math.max(0, perDay - this.#today(agent)),
    }
  }

  #inMinute(agent: string): number {
    const sql = 'SELECT count(*) AS n FROM turns WHERE agent = ? AND at > ?'
    return sqlNumber(this.#database.get(sql, agent, this.#now() - MINUTE_MS)?.n)
  }

  #today(agent: string): number {
    const sql = 'SELECT used FROM days WHERE agent = ? AND day = ?'
    return sqlNumber(this.#database.get(sql, agent, dayOf(this.#now()))?.used)
  }

  #countDay(agent: string, now: number): void {
    const sql = `INSERT INTO days VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1`
    this.#database.run(sql, agent, dayOf(now))
    // Yesterday is kept: a clock that is set back must not give it anew.
    this.#database.run('DELETE FROM days WHERE agent = ? AND day < ?', agent, dayOf(now - DAY_MS))
  }
}

function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}
