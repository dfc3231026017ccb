import type { Clock, Config, Principal, Session } from '../../src/plugin.ts'
import { BoundedMap, compileCallers, compileGlobs, principalKey } from '../../src/plugin.ts'
import type { DayCounts } from './day-counts.ts'
import { getMsUntilTomorrow } from './days.ts'

const MINUTE_MS = 60_000

/** Keys with a count; the least lately used one is forgotten first. */
const MAX_KEYS = 100_000

/** Instants that all keys of a rule remember together: 32 MiB. */
const MAX_INSTANTS = 4_000_000

const FIRST_SIZE = 8

export type RuleConfig = NonNullable<Config['rateLimit']>['rules'][string]

/** The parts of a request that decide whose count it is on. */
export interface LimitSubject {
  readonly principal: Principal
  readonly session: Session
  /** Empty until it is known. */
  readonly upstream: string
  /** The tool as clients call it; empty for everything else. */
  readonly tool: string
}

/** Why there is no room, and when there will be. */
export interface LimitExceeded {
  readonly allowed: string
  readonly retryAfterMs: number
  /** There may be room, but the disk cannot be read or written now. */
  readonly isUncounted?: boolean
  /** There may be room, but what replicas count together cannot be reached now. */
  readonly isStoreLost?: boolean
}

/** Fate of a request whose day cannot be counted now. */
export type UncountedPolicy = 'refuse' | 'continue'

/** State of a rule that outlives a reload. */
export interface RuleCounts {
  readonly perMinute: number | undefined
  readonly windows: MinuteWindows | undefined
  /** Requests under way, by key. */
  readonly running: Map<string, number>
}

/** Advised wait where nobody can say when one of those under way will end. */
export const DEFAULT_RETRY_MS = 1000

/** The counts of a rule, taken over from before where its limit is the same. */
export function createCounts({ perMinute }: RuleConfig, before: RuleCounts | undefined): RuleCounts {
  const windows = perMinute === undefined ? undefined : new MinuteWindows(perMinute)
  if (before === undefined) return { perMinute, windows, running: new Map() }
  return before.perMinute === perMinute ? before : { ...before, perMinute, windows }
}

/** One limit, ready to use. */
export class RateLimitRule {
  readonly name: string
  /** True if it can only be kept once the upstream and the tool are known. */
  readonly isLate: boolean
  readonly needsTool: boolean
  readonly #spec: RuleConfig
  readonly #per: Readonly<Record<RuleConfig['per'][number], boolean>>
  readonly #counts: RuleCounts
  readonly #clock: Clock
  readonly #days: DayCounts | undefined
  readonly #isAbout: (subject: LimitSubject) => boolean
  readonly #matchesUpstream: (name: string) => boolean

  /** `auth` says whose subjects the rule names. */
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

  /** True if it can be about anything of this upstream. */
  appliesToUpstream(upstream: string): boolean {
    return this.#matchesUpstream(upstream)
  }

  /** The limits in words. */
  get limits(): string {
    const { perMinute, perDay, inFlight } = this.#spec
    const parts = [
      ...(perMinute === undefined ? [] : [`${perMinute} a minute`]),
      ...(perDay === undefined ? [] : [`${perDay} a day`]),
      ...(inFlight === undefined ? [] : [`${inFlight} at a time`]),
    ]
    return parts.join(', ')
  }

  get spec(): RuleConfig {
    return this.#spec
  }

  get hasInFlight(): boolean {
    return this.#spec.inFlight !== undefined
  }

  /** The key of the subject's count; undefined when the rule is not about it. */
  getKey(subject: LimitSubject): string | undefined {
    if (!this.#isAbout(subject)) return undefined
    const { principal, session, upstream, tool } = subject
    const per = this.#per
    // Every part but the last ends where it must: JSON, an id of ours, a configured name.
    let key = per.principal ? principalKey(principal) : ''
    if (per.session) key += ` ${getSessionKey(session)}`
    if (per.upstream) key += ` ${upstream}`
    return per.tool ? `${key} ${tool}` : key
  }

  /** Why there is no room; undefined when there is. Nothing is counted yet. */
  findExceeded(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    return (
      this.findInFlightExceeded(key) ?? this.#findMinuteExceeded(key) ?? this.findDayExceeded(key, uncounted)
    )
  }

  findInFlightExceeded(key: string): LimitExceeded | undefined {
    const { inFlight } = this.#spec
    return inFlight === undefined || (this.#counts.running.get(key) ?? 0) < inFlight
      ? undefined
      : { allowed: `${inFlight} at a time`, retryAfterMs: DEFAULT_RETRY_MS }
  }

  #findMinuteExceeded(key: string): LimitExceeded | undefined {
    const { perMinute = 0 } = this.#spec
    const wait = this.#counts.windows?.getWaitMs(key, this.#clock.now()) ?? 0
    return wait === 0 ? undefined : { allowed: `${perMinute} a minute`, retryAfterMs: wait }
  }

  findDayExceeded(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return createDayExceeded(perDay, this.#days?.hasCapacity(this.name, key, perDay), uncounted)
  }

  /** Counts one. Only a day's last may have been taken by another process meanwhile. */
  countCall(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const full = this.countDay(key, uncounted)
    if (full === undefined) this.#counts.windows?.countCall(key, this.#clock.now())
    return full
  }

  /** Counts one of the day alone. */
  countDay(key: string, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return createDayExceeded(perDay, this.#days?.countCall(this.name, key, perDay), uncounted)
  }

  acquire(key: string): void {
    this.#counts.running.set(key, (this.#counts.running.get(key) ?? 0) + 1)
  }

  release(key: string): void {
    const left = (this.#counts.running.get(key) ?? 1) - 1
    if (left === 0) this.#counts.running.delete(key)
    else this.#counts.running.set(key, left)
  }
}

/** Why a day has no room; `hasCapacity` is undefined where nobody can say. */
function createDayExceeded(
  perDay: number,
  hasRoom: boolean | undefined,
  uncounted: UncountedPolicy,
): LimitExceeded | undefined {
  const allowed = `${perDay} a day`
  if (hasRoom === false) return { allowed, retryAfterMs: getMsUntilTomorrow(Date.now()) }
  return hasRoom === undefined && uncounted === 'refuse'
    ? { allowed, retryAfterMs: DEFAULT_RETRY_MS, isUncounted: true }
    : undefined
}

/** A modern request over HTTP is a conversation of its own: a count for each would limit nothing. */
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

/** The instants of the last minute, in a ring that grows as it must. */
class CallTimes {
  #ring = new Float64Array(FIRST_SIZE)
  #first = 0
  #count = 0

  get size(): number {
    return this.#ring.length
  }

  /** Number of instants in the minute before `now`. */
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
    for (let at = 0; at < this.#count; at++)
      larger[at] = this.#ring[(this.#first + at) % this.#ring.length] ?? 0
    this.#ring = larger
    this.#first = 0
  }
}

/** Counts each key over the last 60 seconds, exactly, on a clock that does not jump. */
export class MinuteWindows {
  readonly #keys = new BoundedMap<string, CallTimes>({ max: MAX_KEYS, maxWeight: MAX_INSTANTS })
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#keys.size
  }

  /** Milliseconds until there is room, for so many of them; 0 when there is. */
  getWaitMs(key: string, now: number, max = this.#max): number {
    const instants = this.#keys.get(key)
    if (instants === undefined || instants.countRecent(now) < max) return 0
    return Math.max(1, Math.ceil(instants.oldest + MINUTE_MS - now))
  }

  countCall(key: string, now: number): void {
    const known = this.#keys.use(key)
    const instants = known ?? new CallTimes()
    const before = instants.size
    instants.addTime(now)
    if (known === undefined || instants.size !== before)
      this.#keys.set(key, instants, undefined, instants.size)
  }
}
