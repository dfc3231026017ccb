import { createHash } from 'node:crypto'
import type { Answer, Clock, SharedStore, Config, Principal, Session } from '../../src/plugin.ts'
import { defineErrors, refuse, RPC, BoundedMap, compileCallers, compileGlobs, principalKey } from '../../src/plugin.ts'
import type { DayCounts } from './day-counts.ts'
import { DAY_MS, getDay } from './day-counts.ts'

type RuleConfig = NonNullable<Config['rateLimit']>['rules'][string]

/** Request properties that select its count. */
export interface LimitSubject {
  readonly principal: Principal
  readonly session: Session
  /** Empty until it is known. */
  readonly upstream: string
  /** Exposed tool name; empty for other methods. */
  readonly tool: string
}

const MINUTE_MS = 60_000
/** Maximum keys per rule; the oldest is dropped. */
const MAX_KEYS = 100_000

/** Calls per minute by key, in fixed windows that start with the first call. */
class MinuteCounts {
  readonly #windows = new BoundedMap<string, { calls: number; readonly endsAt: number }>({ max: MAX_KEYS })

  read(key: string, now: number): number {
    const window = this.#windows.get(key)
    return window === undefined || window.endsAt <= now ? 0 : window.calls
  }

  add(key: string, now: number, calls = 1): void {
    const window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= now)
      this.#windows.set(key, { calls: Math.max(0, calls), endsAt: now + MINUTE_MS })
    else window.calls += calls
  }

  /** Milliseconds until the window ends. */
  getWaitMs(key: string, now: number): number {
    const endsAt = this.#windows.get(key)?.endsAt ?? 0
    return endsAt <= now ? MINUTE_MS : Math.ceil(endsAt - now)
  }
}

/** A rule's counts; they outlive a reload. */
export class RuleCounts {
  readonly minutes = new MinuteCounts()
  /** Calls in flight by key. */
  readonly running = new Map<string, number>()
  /** Latest totals in the shared store, by store key. */
  readonly dayTotals = new BoundedMap<string, number>({ max: MAX_KEYS })
}

/** A compiled rule. */
export class RateLimitRule {
  readonly name: string
  readonly spec: RuleConfig
  readonly counts: RuleCounts
  /** True if the rule needs the upstream or the tool. */
  readonly isLate: boolean
  readonly #needsTool: boolean
  readonly #per: ReadonlySet<RuleConfig['per'][number]>
  readonly #tests: readonly ((subject: LimitSubject) => boolean)[]
  readonly #matchesUpstream: (name: string) => boolean

  /** `auth` resolves the callers that the rule names. */
  constructor(name: string, spec: RuleConfig, counts: RuleCounts, auth?: Config['auth']) {
    const { per, tools, upstreams, principals, profiles } = spec
    this.name = name
    this.spec = spec
    this.counts = counts
    this.#needsTool = tools !== undefined || per.includes('tool')
    this.isLate = this.#needsTool || upstreams !== undefined || per.includes('upstream')
    this.#per = new Set(per)
    this.#matchesUpstream = upstreams === undefined ? () => true : compileGlobs(upstreams)
    const isCaller = principals === undefined ? undefined : compileCallers(principals, auth)
    this.#tests = [
      isCaller === undefined ? undefined : ({ principal }: LimitSubject) => isCaller(principal),
      compileGlobTest(profiles, ({ session }) => session.profile ?? ''),
      compileGlobTest(tools, ({ tool }) => tool),
    ].filter(test => test !== undefined)
  }

  /** Returns true if it may apply to this upstream. */
  appliesToUpstream(upstream: string): boolean {
    return this.#matchesUpstream(upstream)
  }

  /** Describes the limits. */
  describe(): string {
    const { perMinute, perDay, inFlight } = this.spec
    const parts = [
      ...(perMinute === undefined ? [] : [`${perMinute} per minute`]),
      ...(perDay === undefined ? [] : [`${perDay} per day`]),
      ...(inFlight === undefined ? [] : [`${inFlight} concurrently`]),
    ]
    return parts.join(', ')
  }

  /** Returns the count's key; undefined if the rule does not apply. */
  getKey(subject: LimitSubject): string | undefined {
    const { principal, session, upstream, tool } = subject
    if ((this.#needsTool && tool === '') || !this.#tests.every(test => test(subject))) return undefined
    // Parts cannot be ambiguous: JSON, a generated id, a configured name, and the tool last.
    let key = this.#per.has('principal') ? principalKey(principal) : ''
    if (this.#per.has('session')) key += ` ${getSessionKey(session)}`
    if (this.#per.has('upstream')) key += ` ${upstream}`
    return this.#per.has('tool') ? `${key} ${tool}` : key
  }
}

/** A modern HTTP request is its own session, so count by principal instead. */
function getSessionKey(session: Session): string {
  return session.client.era === 'modern' ? principalKey(session.principal) : session.id
}

function compileGlobTest(
  patterns: string | readonly string[] | undefined,
  getText: (subject: LimitSubject) => string,
): ((subject: LimitSubject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const matches = compileGlobs(patterns)
  return subject => matches(getText(subject))
}

export const ERRORS = {
  GW_RATE_LIMITED: {
    text: 'too many requests: rule "{rule}" allows {allowed}',
    hint: 'Retry after retryAfterMs; limits are set in rateLimit.rules.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_QUOTA_STATE: {
    text: 'the daily quota of rule "{rule}" is unavailable',
    hint: 'Free disk space for the state directory or rateLimit.state, or check Redis if cluster is configured; it recovers automatically. To serve calls uncounted meanwhile, set rateLimit.onFailure to continue.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

const rateLimitError = defineErrors(ERRORS)

/** Advised wait if the end of running calls, or of a failure, is unknown. */
const DEFAULT_RETRY_MS = 1000

/** Rule with its count key. */
export interface RuleKey {
  readonly rule: RateLimitRule
  readonly key: string
}

/** An exceeded limit with the time to wait. */
interface LimitExceeded {
  readonly rule: string
  readonly allowed: string
  readonly retryAfterMs: number
  /** The day cannot be counted. */
  readonly isUncounted?: boolean
}

/** Policy for a request whose day cannot be counted. */
export type UncountedPolicy = 'refuse' | 'continue'

interface LimitsDeps {
  readonly clock: Clock
  /** Undefined if no rule has `perDay`, or if replicas share the counts. */
  readonly days: DayCounts | undefined
  readonly store: SharedStore | undefined
}

/** Admits calls by rules. Counts in this process, and in the store that replicas share. */
export class Limits {
  readonly #clock: Clock
  readonly #days: DayCounts | undefined
  readonly #store: SharedStore | undefined

  constructor({ clock, days, store }: LimitsDeps) {
    this.#clock = clock
    this.#days = days
    this.#store = store
  }

  /** Counts on all rules, and returns the keys with acquired slots; or refuses, and counts on none. */
  admit(
    rules: readonly RateLimitRule[],
    subject: LimitSubject,
    uncounted: UncountedPolicy,
  ): readonly RuleKey[] | Answer | Promise<readonly RuleKey[] | Answer> {
    const keys: RuleKey[] = []
    for (const rule of rules) {
      const key = rule.getKey(subject)
      if (key === undefined) continue
      const full = this.findExceeded({ rule, key }, uncounted)
      if (full !== undefined) return createLimitRefusal(full)
      keys.push({ rule, key })
    }
    const slots = keys.filter(({ rule }) => rule.spec.inFlight !== undefined)
    acquireSlots(slots)
    for (const { rule, key } of keys) {
      if (rule.spec.perMinute !== undefined) rule.counts.minutes.add(key, this.#clock.now())
      if (rule.spec.perDay !== undefined) this.#days?.add(rule.name, key)
    }
    return this.#store === undefined ? slots : this.#admitShared(this.#store, keys, slots, uncounted)
  }

  /** Finds an exceeded limit in this process without counting. */
  findExceeded({ rule, key }: RuleKey, uncounted: UncountedPolicy): LimitExceeded | undefined {
    const { inFlight, perMinute, perDay } = rule.spec
    const { running, minutes } = rule.counts
    if (inFlight !== undefined && (running.get(key) ?? 0) >= inFlight)
      return { rule: rule.name, allowed: `${inFlight} concurrently`, retryAfterMs: DEFAULT_RETRY_MS }
    if (perMinute !== undefined && minutes.read(key, this.#clock.now()) >= perMinute)
      return this.#createMinuteExceeded(rule, key)
    return perDay === undefined || this.#days === undefined
      ? undefined
      : findDayExceeded(rule, this.#days.read(rule.name, key), uncounted)
  }

  /** Also counts in the store; takes all counts back if a limit is exceeded there. */
  async #admitShared(
    store: SharedStore,
    keys: readonly RuleKey[],
    slots: readonly RuleKey[],
    uncounted: UncountedPolicy,
  ): Promise<readonly RuleKey[] | Answer> {
    const undo: (() => void)[] = []
    for (const ruleKey of keys) {
      const full =
        (await this.#countMinute(store, ruleKey, undo)) ?? (await this.#countDay(store, ruleKey, uncounted, undo))
      if (full === undefined) continue
      for (const run of undo) run()
      for (const { rule, key } of keys)
        if (rule.spec.perMinute !== undefined) rule.counts.minutes.add(key, this.#clock.now(), -1)
      releaseSlots(slots)
      return createLimitRefusal(full)
    }
    return slots
  }

  /** While the store is unavailable, this process allows its share. */
  async #countMinute(
    store: SharedStore,
    { rule, key }: RuleKey,
    undo: (() => void)[],
  ): Promise<LimitExceeded | undefined> {
    const { perMinute: max } = rule.spec
    if (max === undefined) return undefined
    const id = createStoreKey('minute', rule.name, key)
    const isCounted = await addToStore(store, id, { max, expiresInMs: MINUTE_MS }, undo)
    const share = Math.max(1, Math.floor(max / store.processCount))
    const isAllowed = isCounted ?? rule.counts.minutes.read(key, this.#clock.now()) <= share
    return isAllowed ? undefined : this.#createMinuteExceeded(rule, key)
  }

  async #countDay(
    store: SharedStore,
    { rule, key }: RuleKey,
    uncounted: UncountedPolicy,
    undo: (() => void)[],
  ): Promise<LimitExceeded | undefined> {
    const { perDay: max } = rule.spec
    if (max === undefined) return undefined
    const id = createStoreKey(`day ${getDay(Date.now())}`, rule.name, key)
    // A store that lost its data continues from the last known total.
    const { dayTotals } = rule.counts
    const options = { max, expiresInMs: 2 * DAY_MS, initial: dayTotals.get(id) ?? 0 }
    const isCounted = await addToStore(store, id, options, undo, total => dayTotals.set(id, total))
    if (isCounted === undefined) return uncounted === 'refuse' ? createUncounted(rule) : undefined
    return isCounted ? undefined : createDayExceeded(rule)
  }

  #createMinuteExceeded(rule: RateLimitRule, key: string): LimitExceeded {
    const retryAfterMs = rule.counts.minutes.getWaitMs(key, this.#clock.now())
    return { rule: rule.name, allowed: `${rule.spec.perMinute} per minute`, retryAfterMs }
  }
}

/** Counts a call; false if the limit is exceeded, undefined if the store is unavailable. */
async function addToStore(
  store: SharedStore,
  id: string,
  options: { readonly max: number; readonly expiresInMs: number; readonly initial?: number },
  undo: (() => void)[],
  onTotal?: (total: number) => void,
): Promise<boolean | undefined> {
  try {
    const { added, total } = await store.addToCounter(id, { delta: 1, ...options })
    onTotal?.(total)
    if (added < 1) return false
    undo.push(() => void store.addToCounter(id, { delta: -1, ...options }).catch(() => undefined))
    return true
  } catch {
    return undefined
  }
}

function createStoreKey(kind: string, rule: string, key: string): string {
  return createHash('sha256').update(`${kind} ${rule} ${key}`).digest('base64url')
}

export function acquireSlots(slots: readonly RuleKey[]): void {
  for (const { rule, key } of slots) rule.counts.running.set(key, (rule.counts.running.get(key) ?? 0) + 1)
}

export function releaseSlots(slots: readonly RuleKey[]): void {
  for (const { rule, key } of slots) {
    const remaining = (rule.counts.running.get(key) ?? 1) - 1
    if (remaining === 0) rule.counts.running.delete(key)
    else rule.counts.running.set(key, remaining)
  }
}

/** `used` is undefined if the day cannot be counted. */
function findDayExceeded(
  rule: RateLimitRule,
  used: number | undefined,
  uncounted: UncountedPolicy,
): LimitExceeded | undefined {
  if (used === undefined) return uncounted === 'refuse' ? createUncounted(rule) : undefined
  return used < (rule.spec.perDay ?? 0) ? undefined : createDayExceeded(rule)
}

function createDayExceeded({ name, spec }: RateLimitRule): LimitExceeded {
  return { rule: name, allowed: `${spec.perDay} per day`, retryAfterMs: DAY_MS - (Date.now() % DAY_MS) }
}

function createUncounted({ name, spec }: RateLimitRule): LimitExceeded {
  return { rule: name, allowed: `${spec.perDay} per day`, retryAfterMs: DEFAULT_RETRY_MS, isUncounted: true }
}

function createLimitRefusal({ rule, allowed, retryAfterMs, isUncounted }: LimitExceeded): Answer {
  const error =
    isUncounted === true
      ? rateLimitError('GW_QUOTA_STATE', { rule })
      : rateLimitError('GW_RATE_LIMITED', { rule, allowed })
  const { rpc = 0, http = 429 } = error.entry
  const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return refuse(rpc, error.message, { code: error.code, retryAfterMs }, { status: http, headers })
}
