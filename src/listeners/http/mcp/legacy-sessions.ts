import { randomBytes } from 'node:crypto'
import type { Clock, Gate, Log, Neighbours, Principal } from '../../../api/index.ts'
import { ANONYMOUS, principalKey } from '../../../plugin.ts'
import type { Callers } from '../../client/session-quota.ts'
import { ClientAsks } from '../../client/server-requests.ts'
import { Drops } from '../../../transport/unexpected-messages.ts'
import { HeldBytes } from '../../../transport/held-bytes.ts'
import { EventStore, KEPT_EVENTS } from './event-store.ts'
import { LegacySession } from './legacy-session.ts'

const MAX_SWEEP_MS = 30_000

export interface LegacySessionsOptions {
  /** The other processes that have sessions: ids say whose they are. */
  readonly neighbours?: Neighbours | undefined
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  /** Most sessions at a time. */
  readonly max: number
  /** Counts those of one caller, those that are being opened included. */
  readonly callers: Callers
  readonly idleMs: number
}

/** The sessions of one HTTP listener. Clients rarely say good-bye, so idle ones expire. */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  readonly #byId = new Map<string, LegacySession>()
  readonly #drops: Drops
  readonly #kept = new HeldBytes(KEPT_EVENTS)
  #opening = 0
  #takeBack: (() => void) | undefined

  constructor(options: LegacySessionsOptions) {
    this.#options = options
    this.#drops = new Drops(options.log)
  }

  /** What the ids of all that is kept here begin with. */
  get idPrefix(): string {
    return this.#options.neighbours?.idPrefix ?? ''
  }

  get size(): number {
    return this.#byId.size
  }

  /** A session that is being opened, or of whom there are too many; `add` or `abandon` it. */
  begin(principal: Principal): LegacySession | 'all' | 'own' {
    if (this.#fullOf(principal) !== undefined) this.#sweep()
    const full = this.#fullOf(principal)
    if (full !== undefined) return full
    this.#opening++
    this.#options.callers.count(principal, 1)
    const { clock } = this.#options
    const id = `${this.idPrefix}${randomBytes(24).toString('base64url')}`
    return new LegacySession({
      id,
      principal,
      now: clock.now(),
      asks: new ClientAsks(clock, this.#drops),
      events: new EventStore(this.#kept, shareOf(principal, id)),
    })
  }

  #fullOf(principal: Principal): 'all' | 'own' | undefined {
    const { max, callers } = this.#options
    if (this.#byId.size + this.#opening >= max) return 'all'
    return callers.isFull(principal) ? 'own' : undefined
  }

  add(session: LegacySession): void {
    this.#opening--
    this.#byId.set(session.id, session)
    this.#arm()
  }

  abandon({ principal }: LegacySession): void {
    this.#opening--
    this.#options.callers.count(principal, -1)
  }

  /** A living session of this principal, in the profile it was opened for. Someone else's does not exist for him. */
  find(id: string, principal: Principal, profile: string | undefined): LegacySession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined || !isSame(session.principal, principal)) return undefined
    if (session.session?.profile !== profile) return undefined
    const now = this.#options.clock.now()
    if (this.#isExpired(session, now)) {
      this.end(session, 'idle')
      return undefined
    }
    session.touch(now)
    return session
  }

  end(session: LegacySession, reason: string): void {
    if (!this.#byId.delete(session.id)) return
    this.#options.callers.count(session.principal, -1)
    session.end(reason)
    if (session.session !== undefined) this.#options.gate.closeSession(session.session, reason)
  }

  /** Tells and asks the clients nothing more outside their requests. */
  stop(): void {
    for (const session of this.#byId.values()) session.stop()
  }

  endAll(reason: string): void {
    this.#takeBack?.()
    this.#takeBack = undefined
    for (const session of this.#byId.values()) this.end(session, reason)
  }

  #arm(): void {
    const { clock } = this.#options
    this.#takeBack ??= clock.after(Math.min(this.#options.idleMs, MAX_SWEEP_MS), () => {
      this.#takeBack = undefined
      this.#sweep()
      if (this.#byId.size > 0) this.#arm()
    })
  }

  #sweep(): void {
    const now = this.#options.clock.now()
    for (const session of this.#byId.values()) if (this.#isExpired(session, now)) this.end(session, 'idle')
  }

  #isExpired(session: LegacySession, now: number): boolean {
    const since = session.idleSince
    return since !== undefined && now - since >= this.#options.idleMs
  }
}

function isSame(one: Principal, other: Principal): boolean {
  return one === other || principalKey(one) === principalKey(other)
}

/** Whose share of what all sessions keep a session uses: its caller's, or its own where nobody asks who calls. */
function shareOf(principal: Principal, id: string): string {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) ? `${key}#${id}` : key
}
