import {
  type CacheConfig,
  canonical,
  type Call,
  type Config,
  isObject,
  METHODS,
  ownPackage,
  Payload,
  type UpstreamConfig,
} from '../../../src/plugin.ts'
import { isPortable, LIST_METHODS } from '../entry.ts'
import type { Keys } from '../keys.ts'
import type { Policy } from '../policy.ts'
import { type Entry, type Selection, Store } from '../store.ts'
import { FORM } from './record.ts'
import type { Places, SharedAnswers, SharedBounds, SharedCounters } from './shared-answers.ts'

/** Sections that say where a replica runs and what it tells, and nothing of answers. */
const OF_ONE_PROCESS = new Set(
  'cluster listeners state log audit control metrics tracing ui activity shutdown upstreams'.split(' '),
)
/** Servers that are the same one for each replica. A process on each machine need not say the same. */
const OF_ALL = new Set(['http', 'sse', 'ws', 'openapi'])

/** Methods whose answers may be kept. */
const KEPT = [...LIST_METHODS, 'resources/read', 'prompts/get', 'tools/call']

/** Question whose answer other replicas may have. */
export interface Asked {
  readonly call: Call
  readonly target: string
  readonly policy: Policy
  readonly keys: Keys
}

/** Means of one configuration. */
export interface ShareOptions {
  readonly answers: SharedAnswers
  readonly bounds: SharedBounds
  readonly config: Config
}

/** True where the answers of this upstream are shared: `cache.shared` of its own says so, or it is one server for all replicas. */
export function isShared({ cache, type, isolation }: UpstreamConfig): boolean {
  if (cache === false || isolation === 'session') return false
  return cache?.shared ?? OF_ALL.has(type)
}

/** Answers of one upstream that replicas share. */
export class UpstreamShare {
  readonly #upstream: string
  readonly #answers: SharedAnswers
  readonly #bounds: SharedBounds
  readonly #counters: SharedCounters
  /** Another server, rule or program must not be taken for this one. */
  readonly #made: string
  readonly #tags: ReadonlyMap<string, ReadonlySet<unknown>>

  constructor(
    upstream: string,
    spec: UpstreamConfig,
    { answers, bounds, config }: ShareOptions,
    counters: SharedCounters,
  ) {
    this.#upstream = upstream
    this.#tags = tagsByMethod(spec, config)
    this.#answers = answers
    this.#bounds = bounds
    this.#counters = counters
    const sections = Object.entries(config).filter(([section]) => !OF_ONE_PROCESS.has(section))
    const all = { ...Object.fromEntries(sections), spec, form: FORM, version: ownPackage().version }
    this.#made = answers.digest(canonical(all))
  }

  /** Looks where the answer would be; undefined where that cannot be said, or sessions have answers of their own. */
  look({ call, policy, keys }: Asked): Promise<Places | undefined> {
    if (policy.perSession) return Promise.resolve(undefined)
    const mayBePublic = METHODS.get(call.method)?.cacheable === true
    return this.#answers.look({
      scope: scopeOf(this.#upstream, call.method),
      // Policies of one configuration may tell answers apart by other headers and arguments.
      made: JSON.stringify([this.#made, policy.headers, policy.args ?? null]),
      keys: mayBePublic ? [keys.own, keys.shared] : [keys.own],
      counters: this.#counters,
      bounds: this.#bounds,
    })
  }

  /** The answer that lies there, as an entry of this process; undefined where there is none that counts here. */
  entryIn({ all }: Places, { call, target, policy, keys }: Asked): Entry | undefined {
    for (const { key, moment, found } of all) {
      if (found === undefined) continue
      const { record, ageMs } = found
      const storedAt = moment.here - ageMs
      if (this.#answers.isDoubted(this.#upstream, storedAt)) continue
      const scope = key === keys.own ? 'principal' : 'public'
      const payload = Payload.raw(Buffer.from(record.text), record.era)
      const hintUntil = record.hintMs === undefined ? undefined : storedAt + record.hintMs
      if (LIST_METHODS.has(call.method)) payload.freshUntil = hintUntil
      return {
        ...{ upstream: call.upstream, method: call.method, target, tags: policy.tags },
        ...{ key, scope, payload, meta: record.meta, hintUntil, storedAt },
        bytes: Store.cost(key, payload),
        staleAt: storedAt + record.freshMs,
        revalidateUntil: storedAt + record.revalidateMs,
        errorUntil: record.errorMs === 0 ? 0 : storedAt + record.errorMs,
        isPortable: LIST_METHODS.has(call.method) && isPortable({ call, policy }, scope),
        trust: 'known',
        hits: 0,
      }
    }
    return undefined
  }

  /** Kinds of its answers that a selection may mean: each has a version of its own. */
  scopesOf({ upstream, method, tag }: Selection): string[] {
    if (upstream !== undefined && upstream !== this.#upstream) return []
    return KEPT.filter(one => method === undefined || method === one)
      .filter(one => tag === undefined || this.#tags.get(one)?.has(tag) === true)
      .map(one => scopeOf(this.#upstream, one))
  }

  found(isHit: boolean): void {
    this.#counters[isHit ? 'hits' : 'misses']++
  }

  give(entry: Entry, places: Places): void {
    this.#answers.give(entry, places)
  }
}

/** The tags that rules give to answers of each method. */
function tagsByMethod({ cache }: UpstreamConfig, config: Config): Map<string, Set<unknown>> {
  const all: Partial<CacheConfig> = config.cache === false ? {} : config.cache
  const own = cache === false || cache === undefined ? {} : cache
  const rulesOf = (method: string): unknown[] => {
    if (method === 'tools/call') return [own.tools, all.tools].flatMap(tools => Object.values(tools ?? {}))
    if (method === 'resources/read') return [own.resources ?? all.resources]
    return [method === 'prompts/get' ? (own.prompts ?? all.prompts) : (own.lists ?? all.lists)]
  }
  const tagsOf = (rule: unknown): unknown[] =>
    isObject(rule) && Array.isArray(rule.tags) ? (rule.tags as unknown[]) : []
  return new Map(KEPT.map(method => [method, new Set(rulesOf(method).flatMap(tagsOf))]))
}

function scopeOf(upstream: string, method: string): string {
  return `${upstream} ${method}`
}
