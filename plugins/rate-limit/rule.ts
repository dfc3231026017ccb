import {
  BoundedMap,
  type Clock,
  type Config,
  type Principal,
  type Session,
  compileCallers,
  compileGlobs,
  principalKey,
} from '../../src/plugin.ts'
import { type DayCounts, getMsUntilTomorrow } from './day-counts.ts'

const MINUTE_MS = 60_000

/** Maximum keys; the least recently used is evicted. */
const MAX_KEYS = 100_000

/** Maximum call times over all keys of a rule: 32 MiB. */
const MAX_INSTANTS = 4_000_000

const FIRST_SIZE = 8

export type RuleConfig = NonNullable<Config['rateLimit']>['rules'][string]

/** Request properties that select its count. */
export interface LimitSubject {
  readonly principal: Principal
  readonly session: Session
  /** Empty until it is known. */
  readonly upstream: string
  /** Exposed tool name; empty for other methods. */
  readonly tool: string
}

/** An exceeded limit with the time to wait. */
export interface LimitExceeded {
  readonly allowed: string
  readonly retryAfterMs: number
  /** The disk cannot be read or written. */
  readonly isUncounted?: boolean
  /** The shared store is unreachable. */
  readonly isStoreLost?: boolean
}

/** Policy for a request whose day cannot be counted. */
export type UncountedPolicy = 'refuse' | 'continue'

/** Rule state that outlives a reload. */
export interface RuleCounts {
  readonly perMinute: number | undefined
  readonly windows: MinuteWindows | undefined
  /** Calls in flight by key. */
  readonly running: Map<string, number>
}

/** Advised wait if the end of running calls is unknown. */
export const DEFAULT_RETRY_MS = 1000

/** Reuses previous counts if the limit is the same. */
export function createCounts({ perMinute }: RuleConfig, before: RuleCounts | undefined): RuleCounts {
  const windows = perMinute === undefined ? undefined : new MinuteWindows(perMinute)
  if (before === undefined) return { perMinute, windows, running: new Map() }
  return before.perMinute === perMinute ? before : { ...before, perMinute, windows }
}

/** A compiled rule. */
export class RateLimitRule {
  readonly name: string
  /** True if the rule needs the upstream or the tool. */
  readonly isLate: boolean
  readonly needsTool: boolean
  readonly #spec: RuleConfig
  readonly #per: Readonly<Record<RuleConfig['per'][number], boolean>>
  readonly #counts: RuleCounts
  readonly #clock: Clock
  readonly #days: DayCounts | undefined
  readonly #isAbout: (subject: LimitSubject) => boolean
  readonly #matchesUpstream: (name: string) => boolean

  /** `auth` resolves the callers that the rule names. */
  constructor(
    name: string,
    spec: RuleConfig,
    counts: RuleCounts,
    clock: Clock,
    days: DayCounts | undefined,
    auth?: Config['auth'],
  ) {
    const { per, tools, upstreams, principals, profiles } = spec
    this.name = name
    this.needsTool = tools !== undefined || per.includes('tool')
    this.isLate = this.needsTool || upstreams !== undefined || per.includes('upstream')
    this.#spec = spec
    this.#per = {
      principal: per.includes('principal'),
      session: per.includes('session'),
      tool: per.includes('tool'),
      upstream: per.includes('upstream'),
    }
    this.#counts = counts
    this.#clock = clock
    this.#days = days
    const tests = [
      compileCallerTest(principals, auth),
      compileGlobTest(profiles, ({ session }) => session.profile ?? ''),
      compileGlobTest(tools, ({ tool }) => tool),
    ].filter(test => test !== undefined)
    this.#matchesUpstream = upstreams === undefined ? () => true : compileGlobs(upstreams)
    this.#isAbout = subject => tests.every(test => test(subject))
  }

  /** Returns true if it may apply to this upstream. */
  appliesToUpstream(upstream: string): boolean {
    return this.#matchesUpstream(upstream)
  }

  /** Describes the limits. */
  get limits(): string {
    const { perMinute, perDay, inFlight } = this.#spec
    const parts = [
      ...(perMinute === undefined ? [] : [`${perMinute} per minute`]),
      ...(perDay === undefined ? [] : [`${perDay} per day`]),
      ...(inFlight === undefined ? [] : [`${inFlight} concurrently`]),
    ]
    return parts.join(', ')
  }

  get spec(): RuleConfig {
    return this.#spec
  }

  get hasInFlight(): boolean {
    return this.#spec.inFlight !== undefined
  }

  /** Returns the count's key; undefined if the rule does not apply. */
  getKey(subject: LimitSubject): string | undefined {
    if (!this.#isAbout(subject)) return undefined
    const { principal, session, upstream, tool } = subject
    const per = this.#per
    // Parts cannot be ambiguous: JSON, a generated id, a configured name, and the tool last.
    let key = per.principal ? principalKey(principal) : ''
    if (per.session) key += ` ${getSessionKey(session)}`
    if (per.upstream) key += ` ${upstream}`
    return per.tool ? `${key} ${tool}` : key
  }

  /** Finds the exceeded limit without counting. */
  findExceeded(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    return this.findInFlightExceeded(key) ?? this.#findMinuteExceeded(key) ?? this.findDayExceeded(key, uncounted)
  }

  findInFlightExceeded(key: string): LimitExceeded | undefined {
    const { inFlight } = this.#spec
    return inFlight === undefined || (this.#counts.running.get(key) ?? 0) < inFlight
      ? undefined
      : { allowed: `${inFlight} concurrently`, retryAfterMs: DEFAULT_RETRY_MS }
  }

  #findMinuteExceeded(key: string): LimitExceeded | undefined {
    const { perMinute = 0 } = this.#spec
    const wait = this.#counts.windows?.getWaitMs(key, this.#clock.now()) ?? 0
    return wait === 0 ? undefined : { allowed: `${perMinute} per minute`, retryAfterMs: wait }
  }

  findDayExceeded(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return createDayExceeded(perDay, this.#days?.hasCapacity(this.name, key, perDay), uncounted)
  }

  /** Counts a call. Only the day's last call may fail, if another process took it. */
  countCall(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const full = this.countDay(key, uncounted)
    if (full === undefined) this.#counts.windows?.countCall(key, this.#clock.now())
    return full
  }

  countDay(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return createDayExceeded(perDay, this.#days?.countCall(this.name, key, perDay), uncounted)
  }

  acquire(key: string): void {
    this.#counts.running.set(key, (this.#counts.running.get(key) ?? 0) + 1)
  }

  release(key: string): void {
    const remaining = (this.#counts.running.get(key) ?? 1) - 1
    if (remaining === 0) this.#counts.running.delete(key)
    else this.#counts.running.set(key, remaining)
  }
}

/** `hasCapacity` is undefined if it cannot be determined. */
function createDayExceeded(
  perDay: number,
  hasRoom: boolean | undefined,
  uncounted: UncountedPolicy,
): LimitExceeded | undefined {
  const allowed = `${perDay} per day`
  if (hasRoom === false) return { allowed, retryAfterMs: getMsUntilTomorrow(Date.now()) }
  return hasRoom === undefined && uncounted === 'refuse'
    ? { allowed, retryAfterMs: DEFAULT_RETRY_MS, isUncounted: true }
    : undefined
}

/** A modern HTTP request is its own session, so count by principal instead. */
function getSessionKey(session: Session): string {
  return session.client.era === 'modern' ? principalKey(session.principal) : session.id
}

function compileCallerTest(
  patterns: string | readonly string[] | undefined,
  auth: Config['auth'],
): ((subject: LimitSubject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const isMeant = compileCallers(patterns, auth)
  return ({ principal }) => isMeant(principal)
}

function compileGlobTest(
  patterns: string | readonly string[] | undefined,
  getText: (subject: LimitSubject) => string,
): ((subject: LimitSubject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const matches = compileGlobs(patterns)
  return subject => matches(getText(subject))
}

/** Call times of the last minute in a growing ring buffer. */
class CallTimes {
  #ring = new Float64Array(FIRST_SIZE)
  #first = 0
  #count = 0

  get size(): number {
    return this.#ring.length
  }

  /** Counts calls in the minute before `now`. */
  countRecent(now: number): number {
    while (this.#count > 0 && this.oldest <= now - MINUTE_MS) {
      this.#first = (this.#first + 1) % this.#ring.length
      this.#count--
    }
    return this.#count
  }

  get oldest(): number {
    return this.#ring[this.#first] ?? 0
  }

  addTime(now: number): void {
    if (this.#count === this.#ring.length) this.#grow()
    this.#ring[(this.#first + this.#count++) % this.#ring.length] = now
  }

  #grow(): void {
    const larger = new Float64Array(this.#ring.length * 2)
    for (let at = 0; at < this.#count; at++) larger[at] = this.#ring[(this.#first + at) % this.#ring.length] ?? 0
    this.#ring = larger
    this.#first = 0
  }
}

/** Counts calls exactly over the last 60 seconds, on a monotonic clock. */
export class MinuteWindows {
  readonly #keys = new BoundedMap<string, CallTimes>({ max: MAX_KEYS, maxWeight: MAX_INSTANTS })
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#keys.size
  }

  /** Milliseconds until another call is allowed; 0 if one is. */
  getWaitMs(key: string, now: number, max = this.#max): number {
    const instants = this.#keys.get(key)
    if (instants === undefined || instants.countRecent(now) < max) return 0
    return Math.max(1, Math.ceil(instants.oldest + MINUTE_MS - now))
  }

  countCall(key: string, now: number): void {
    const cached = this.#keys.use(key)
    const instants = cached ?? new CallTimes()
    const before = instants.size
    instants.addTime(now)
    if (cached === undefined || instants.size !== before) this.#keys.set(key, instants, undefined, instants.size)
  }
}
