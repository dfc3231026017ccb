import {
  type CacheConfig,
  type Clock,
  type Config,
  type JsonObject,
  parseDuration,
  parseSize,
  type PluginApi,
  type SharedStore,
  type UpstreamConfig,
} from '../../../src/plugin.ts'
import type { Selection } from '../store.ts'
import { SharedAnswers, type SharedBounds, type SharedCounters } from './shared-answers.ts'
import { isShared, UpstreamShare } from './upstream-share.ts'

/** Means of a plugin that shares. */
interface Means {
  readonly store: SharedStore
  readonly clock: Clock
  readonly config: Config
  readonly slot: PluginApi['slot']
}

/** Answers that this configuration shares with other replicas. */
export class Sharing {
  readonly #answers: SharedAnswers
  readonly #bounds: SharedBounds
  readonly #config: Config
  readonly #counters = new Map<string, SharedCounters>()
  readonly #shares = new Map<string, UpstreamShare>()

  constructor(options: CacheConfig['shared'], { store, clock, config, slot }: Means) {
    const { wait = '50ms', maxEntry = '180KiB' } = typeof options === 'object' ? options : {}
    this.#bounds = { waitMs: parseDuration(wait), maxEntry: parseSize(maxEntry) }
    this.#config = config
    // Doubts and versions outlive a configuration.
    this.#answers = slot.gateway(() => new SharedAnswers(store, clock))
  }

  /** The share of one upstream; undefined where its answers are those of each replica. */
  of(upstream: string, spec: UpstreamConfig): UpstreamShare | undefined {
    if (!isShared(spec)) return undefined
    const known = this.#shares.get(upstream)
    if (known !== undefined) return known
    const counters = { hits: 0, misses: 0, writes: 0, away: 0, refused: 0 }
    this.#counters.set(upstream, counters)
    const options = { answers: this.#answers, bounds: this.#bounds, config: this.#config }
    const share = new UpstreamShare(upstream, spec, options, counters)
    this.#shares.set(upstream, share)
    return share
  }

  /** True where answers of this upstream are shared. */
  has(upstream: string): boolean {
    return this.#shares.has(upstream)
  }

  /** Puts what is meant out of reach of every replica: here at once, and for the others when the store has heard of it. */
  outdate(selection: Selection): void {
    this.#answers.versions.outdate([...this.#shares.values()].flatMap(share => share.scopesOf(selection)))
  }

  /** The store has lost something: what this process has outdated may be in reach again. */
  outdateAll(): void {
    this.#answers.versions.outdateAll()
  }

  /** Resolves when no replica finds what was outdated. Rejects where the store cannot hear of it now. */
  flush(): Promise<void> {
    return this.#answers.versions.flush()
  }

  /** The server is there. A connection after the first may say something else than what it has said until now. */
  isReady(upstream: string): void {
    this.#answers.connected(upstream)
  }

  /** The server is gone: what it has said until now is nothing that another one must say. */
  doubt(upstream: string): void {
    this.#answers.doubt(upstream)
  }

  /** Counts of one upstream; none where nothing of it is shared. */
  countersOf(upstream: string): { shared?: SharedCounters } {
    const counters = this.#counters.get(upstream)
    return counters === undefined ? {} : { shared: { ...counters } }
  }

  /** Counts of all, as the owner sees them. */
  report(): JsonObject {
    const sum = { hits: 0, misses: 0, writes: 0, away: 0, refused: 0 }
    for (const one of this.#counters.values())
      for (const key of Object.keys(sum) as (keyof SharedCounters)[]) sum[key] += one[key]
    return { state: this.#answers.isUp ? 'up' : 'away', ...sum }
  }
}
