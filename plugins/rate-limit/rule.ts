import type { Config, Principal, Session } from '../../src/plugin.ts'
import { BoundedMap, compileCallers, compileGlobs, principalKey } from '../../src/plugin.ts'

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
