import {
  globs,
  principalKey,
  type Clock,
  type Config,
  type Principal,
  type Session,
} from '../../src/plugin.ts'
import { untilTomorrow } from './day.ts'
import type { Quotas } from './quota.ts'
import { Windows } from './window.ts'

type RuleConfig = NonNullable<Config['rateLimit']>['rules'][string]

/** What a request is, as far as it decides whose count it is on. */
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
}

/** What of a rule outlives a reload. */
export interface Counts {
  readonly perMinute: number | undefined
  readonly windows: Windows | undefined
  /** How many are under way, by key. */
  readonly running: Map<string, number>
}

/** Nobody can say when one of those under way will end. */
const SOON_MS = 1000

/** The counts of a rule, taken over from before where its limit is the same. */
export function countsOf({ perMinute }: RuleConfig, before: Counts | undefined): Counts {
  const windows = perMinute === undefined ? undefined : new Windows(perMinute)
  if (before === undefined) return { perMinute, windows, running: new Map() }
  return before.perMinute === perMinute ? before : { ...before, perMinute, windows }
}

/** One limit, ready to use. */
export class Rule {
  readonly name: string
  /** Whether it can only be kept once the upstream and the tool are known. */
  readonly isLate: boolean
  readonly isOfTools: boolean
  readonly #spec: RuleConfig
  readonly #per: Readonly<Record<RuleConfig['per'][number], boolean>>
  readonly #counts: Counts
  readonly #clock: Clock
  readonly #quotas: () => Quotas
  readonly #isAbout: (subject: Subject) => boolean
  readonly #ofUpstream: (name: string) => boolean

  constructor(name: string, spec: RuleConfig, counts: Counts, clock: Clock, quotas: () => Quotas) {
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
    this.#quotas = quotas
    const tests = [
      testOf(principals, ({ principal }) => principal.subject),
      testOf(profiles, ({ session }) => session.profile ?? ''),
      testOf(tools, ({ tool }) => tool),
    ].filter(test => test !== undefined)
    this.#ofUpstream = upstreams === undefined ? () => true : globs(upstreams)
    this.#isAbout = subject => tests.every(test => test(subject))
  }

  /** Whether it can be about anything of this upstream. */
  concerns(upstream: string): boolean {
    return this.#ofUpstream(upstream)
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
  full(key: string): Full | undefined {
    return this.#crowded(key) ?? this.#hurried(key) ?? this.#spent(key)
  }

  #crowded(key: string): Full | undefined {
    const { inFlight } = this.#spec
    return inFlight === undefined || (this.#counts.running.get(key) ?? 0) < inFlight
      ? undefined
      : { allowed: `${inFlight} at a time`, retryAfterMs: SOON_MS }
  }

  #hurried(key: string): Full | undefined {
    const { perMinute = 0 } = this.#spec
    const wait = this.#counts.windows?.wait(key, this.#clock.now()) ?? 0
    return wait === 0 ? undefined : { allowed: `${perMinute} a minute`, retryAfterMs: wait }
  }

  #spent(key: string): Full | undefined {
    const { perDay } = this.#spec
    if (perDay === undefined || this.#quotas().hasRoom(this.name, key, perDay, Date.now())) return undefined
    return tomorrow(perDay)
  }

  /** Counts one. Only a day's last may have been taken by another process meanwhile. */
  take(key: string): Full | undefined {
    const { perDay } = this.#spec
    if (perDay !== undefined && !this.#quotas().take(this.name, key, perDay, Date.now()))
      return tomorrow(perDay)
    this.#counts.windows?.take(key, this.#clock.now())
    return undefined
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

function tomorrow(perDay: number): Full {
  return { allowed: `${perDay} a day`, retryAfterMs: untilTomorrow(Date.now()) }
}

/** A modern request over HTTP is a conversation of its own: a count for each would limit nothing. */
function sessionOf(session: Session): string {
  return session.client.era === 'modern' ? principalKey(session.principal) : session.id
}

function testOf(
  patterns: string | readonly string[] | undefined,
  textOf: (subject: Subject) => string,
): ((subject: Subject) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const matches = globs(patterns)
  return subject => matches(textOf(subject))
}
