import type { Clock } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import type { Reply, Script, Store, Tables } from './store.ts'

interface Kept {
  readonly value: string | Map<string, string>
  readonly until: number
}

/** Entries at which those are looked for that have run out. */
const SWEPT_AT = 1000

/** The memory of one process as the store of several replicas in it. */
export class MemoryStore implements Store {
  /** False to have it fail, as if it were away. */
  isUp = true
  upSince: number | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #kept = new Map<string, Kept>()
  readonly #scores = new Map<string, Map<string, number>>()
  #sweepAt = SWEPT_AT

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  get(key: string): Promise<string | undefined> {
    return this.#answer(() => this.#tables().text(key))
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return this.#answer(() => script.run(this.#tables(), keys, args))
  }

  /** Forgets all, as one does that is started anew. */
  clear(): void {
    this.#kept.clear()
    this.#scores.clear()
  }

  delete(key: string | undefined): void {
    if (key !== undefined) this.#kept.delete(key)
  }

  close(): void {
    // Others may use it still.
  }

  async #answer<T>(say: () => T): Promise<T> {
    if (!this.isUp) throw clusterError('GW_CLUSTER_AWAY', { why: 'it is switched off' })
    return Promise.resolve(say())
  }

  /** Drops what has run out and is asked for by nobody, whenever there is twice as much as there was. */
  #sweep(now: number): void {
    if (this.#kept.size < this.#sweepAt) return
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key)
    this.#sweepAt = Math.max(SWEPT_AT, 2 * this.#kept.size)
  }

  #tables(): Tables {
    const now = this.#clock.now()
    this.#sweep(now)
    const read = (key: string): Kept['value'] | undefined => {
      const kept = this.#kept.get(key)
      if (kept === undefined || kept.until > now) return kept?.value
      this.#kept.delete(key)
      return undefined
    }
    const fields = (key: string): Map<string, string> | undefined => {
      const value = read(key)
      return value instanceof Map ? value : undefined
    }
    const textOf = (key: string): string | undefined => {
      const value = read(key)
      return typeof value === 'string' ? value : undefined
    }
    return {
      now,
      text: textOf,
      setText: (key, value, ms) => void this.#kept.set(key, { value, until: now + ms }),
      fields,
      setFields: (key, given) => {
        const until = this.#kept.get(key)?.until ?? Infinity
        const value = new Map([...(fields(key) ?? []), ...Object.entries(given)])
        this.#kept.set(key, { value, until })
      },
      scores: key => {
        const known = this.#scores.get(key) ?? new Map<string, number>()
        this.#scores.set(key, known)
        return known
      },
      expire: (key, ms) => {
        const value = read(key)
        if (value !== undefined) this.#kept.set(key, { value, until: now + ms })
      },
      delete: key => void this.#kept.delete(key),
    }
  }
}
