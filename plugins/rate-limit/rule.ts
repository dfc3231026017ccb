import type { Clock, Config, Principal, Session } from '../../src/plugin.ts'
import { BoundedMap, compileCallers, compileGlobs, principalKey } from '../../src/plugin.ts'
import type { DayCounts } from './day-counts.ts'
import { untilTomorrow } from './days.ts'

const MINUTE_MS = 60_000

/** Keys with a count; the least lately used one is forgotten first. */
const MAX_KEYS = 100_000

/** Instants that all keys of a rule remember together: 32 MiB. */
const MAX_INSTANTS = 4_000_000

const FIRST_SIZE = 8

export type RuleConfig = NonNullable<Config['rateLimit']>['rules'][string]

/** The parts of a request that decide whose count it is on. */
export interface Subject {
  readonly principal: Principal
  readonly session: Session
  /** Empty until it is known. */
  readonly upstream: string
  /** The tool as clients call it; empty for everything else. */
  readonly tool: string
}

/** Why there is no room, and when there will be. */
export interface Full {
  readonly allowed: string
  readonly retryAfterMs: number
  /** There may be room, but the disk cannot be read or written now. */
  readonly isUncounted?: boolean
  /** There may be room, but what replicas count together cannot be reached now. */
  readonly isStoreLost?: boolean
}

/** Fate of a request whose day cannot be counted now. */
export type Uncounted = 'refuse' | 'continue'

/** State of a rule that outlives a reload. */
export interface Counts {
  readonly perMinute: number | undefined
  readonly windows: Windows | undefined
  /** Requests under way, by key. */
  readonly running: Map<string, number>
}

/** Advised wait where nobody can say when one of those under way will end. */
export const WARNING_MS = 1000

/** The counts of a rule, taken over from before where its limit is the same. */
export function countsOf({ perMinute }: RuleConfig, before: Counts | undefined): Counts {
  const windows = perMinute === undefined ? undefined : new Windows(perMinute)
  if (before === undefined) return { perMinute, windows, running: new Map() }
  return before.perMinute === perMinute ? before : { ...before, perMinute, windows }
}

/** One limit, ready to use. */
export class Rule {
  readonly name: string
  /** True if it can only be kept once the upstream and the tool are known. */
  readonly isLate: boolean
  readonly isOfTools: boolean
  readonly #spec: RuleConfig
  readonly #per: Readonly<Record<RuleConfig['per'][number], boolean>>
  readonly #counts: Counts
  readonly #clock: Clock
  readonly #days: DayCounts | undefined
  readonly #isAbout: (subject: Subject) => boolean
  readonly #ofUpstream: (name: string) => boolean

  /** `auth` says whose subjects the rule names. */
  constructor(
    name: string,
    spec: RuleConfig,
    counts: Counts,
    clock: Clock,
    days: DayCounts | undefined,
    auth?: Config['auth'],
  ) {
    const { per, tools, upstreams, principals, profiles } = spec
    this.name = name
    this.isOfTools = tools !== undefined || per.includes('tool')
    this.isLate = this.isOfTools || upstreams !== undefined || per.includes('upstream')
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
      ofCallers(principals, auth),
      testOf(profiles, ({ session }) => session.profile ?? ''),
      testOf(tools, ({ tool }) => tool),
    ].filter(test => test !== undefined)
    this.#ofUpstream = upstreams === undefined ? () => true : compileGlobs(upstreams)
    this.#isAbout = subject => tests.every(test => test(subject))
  }

  /** True if it can be about anything of this upstream. */
  concerns(upstream: string): boolean {
    return this.#ofUpstream(upstream)
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
  keyOf(subject: Subject): string | undefined {
    if (!this.#isAbout(subject)) return undefined
    const { principal, session, upstream, tool } = subject
    const per = this.#per
    // Every part but the last ends where it must: JSON, an id of ours, a configured name.
    let key = per.principal ? principalKey(principal) : ''
    if (per.session) key += ` ${sessionOf(session)}`
    if (per.upstream) key += ` ${upstream}`
    return per.tool ? `${key} ${tool}` : key
  }

  /** Why there is no room; undefined when there is. Nothing is counted yet. */
  full(key: string, uncounted: Uncounted): Full | undefined {
    return this.crowded(key) ?? this.#hurried(key) ?? this.spent(key, uncounted)
  }

  crowded(key: string): Full | undefined {
    const { inFlight } = this.#spec
    return inFlight === undefined || (this.#counts.running.get(key) ?? 0) < inFlight
      ? undefined
      : { allowed: `${inFlight} at a time`, retryAfterMs: WARNING_MS }
  }

  #hurried(key: string): Full | undefined {
    const { perMinute = 0 } = this.#spec
    const wait = this.#counts.windows?.wait(key, this.#clock.now()) ?? 0
    return wait === 0 ? undefined : { allowed: `${perMinute} a minute`, retryAfterMs: wait }
  }

  spent(key: string, uncounted: Uncounted): Full | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return fullDay(perDay, this.#days?.hasRoom(this.name, key, perDay), uncounted)
  }

  /** Counts one. Only a day's last may have been taken by another process meanwhile. */
  take(key: string, uncounted: Uncounted): Full | undefined {
    const full = this.takeDay(key, uncounted)
    if (full === undefined) this.#counts.windows?.take(key, this.#clock.now())
    return full
  }

  /** Counts one of the day alone. */
  takeDay(key: string, uncounted: Uncounted): Full | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined) return undefined
    return fullDay(perDay, this.#days?.take(this.name, key, perDay), uncounted)
  }

  enter(key: string): void {
    this.#counts.running.set(key, (this.#counts.running.get(key) ?? 0) + 1)
  }

  leave(key: string): void {
    const left = (this.#counts.running.get(key) ?? 1) - 1
    if (left === 0) this.#counts.running.delete(key)
    else this.#counts.running.set(key, left)
  }
}

/** Why a day has no room; `hasRoom` is undefined where nobody can say. */
function fullDay(perDay: number, hasRoom: boolean | undefined, uncounted: Uncounted): Full | undefined {
  const allowed = `${perDay} a day`
  if (hasRoom === false) return { allowed, retryAfterMs: untilTomorrow(Date.now()) }
  return hasRoom === undefined && uncounted === 'refuse'
    ? { allowed, retryAfterMs: WARNING_MS, isUncounted: true }
    : undefined
}

/** A modern request over HTTP is a conversation of its own: a count for each would limit nothing. */
function sessionOf(session: Session): string {
  return session.client.era === 'modern' ? principalKey(session.principal) : session.id
}

function ofCallers(
  patterns: string | readonly string[] | undefined,
  auth: Config['auth'],
): ((subject: Subject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const isMeant = compileCallers(patterns, auth)
  return ({ principal }) => isMeant(principal)
}

function testOf(
  patterns: string | readonly string[] | undefined,
  textOf: (subject: Subject) => string,
): ((subject: Subject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const matches = compileGlobs(patterns)
  return subject => matches(textOf(subject))
}

/** The instants of the last minute, in a ring that grows as it must. */
class Instants {
  #ring = new Float64Array(FIRST_SIZE)
  #first = 0
  #count = 0

  get size(): number {
    return this.#ring.length
  }

  /** Number of instants in the minute before `now`. */
  countAt(now: number): number {
    while (this.#count > 0 && this.oldest <= now - MINUTE_MS) {
      this.#first = (this.#first + 1) % this.#ring.length
      this.#count--
    }
    return this.#count
  }

  get oldest(): number {
    return this.#ring[this.#first] ?? 0
  }

  add(now: number): void {
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
export class Windows {
  readonly #keys = new BoundedMap<string, Instants>({ max: MAX_KEYS, maxWeight: MAX_INSTANTS })
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#keys.size
  }

  /** Milliseconds until there is room, for so many of them; 0 when there is. */
  wait(key: string, now: number, max = this.#max): number {
    const instants = this.#keys.get(key)
    if (instants === undefined || instants.countAt(now) < max) return 0
    return Math.max(1, Math.ceil(instants.oldest + MINUTE_MS - now))
  }

  take(key: string, now: number): void {
    const known = this.#keys.use(key)
    const instants = known ?? new Instants()
    const before = instants.size
    instants.add(now)
    if (known === undefined || instants.size !== before)
      this.#keys.set(key, instants, undefined, instants.size)
  }
}
