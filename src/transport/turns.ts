import type { Clock, Exchange, Log } from '../core/ports.ts'
import type { RpcId, RpcResponse } from '../protocol/jsonrpc.ts'
import type { CancelledCalls } from './cancelled-calls.ts'
import { DrainWindow } from './drain-window.ts'
import type { Habit, Habits } from './habits.ts'
import { InFlight } from './in-flight.ts'
import type { Pending } from './wire.ts'

/** All times below count these, and only while somebody waits: a gateway that is late is late for all. */
const TICK_MS = 50
/** How long an unknown thing waits to be alone, and keeps others that may ask waiting. */
const TRIAL = 10
/** After an ask, the time in which more of the same call may come. */
const SETTLE = 2
/** How long a call that asks is alone without asking, and one that was disturbed in that before. */
const ALONE = 20
const DISTURBED = 100
/** How long a client may think while others wait for that. */
const THINK = 600
/** How long a reply waits until its call is alone again. */
const RESUME = 100
/** Calls that wait for their turn; more fail at once. */
const MAX_WAITING = 10_000
const TOO_LONG = 'the client did not answer in time, and others wait'

/** What turns need from their link. */
export interface TurnsHost {
  readonly clock: Clock
  readonly log: Log
  readonly habits: Habits
  /** Calls that nobody waits for, while the server may still ask for them. */
  readonly cancelled: CancelledCalls
  /** Sends a call whose turn it is. */
  go(pending: Pending): void
  /** Fails a call for which there is no room. */
  refuse(pending: Pending): void
  /** The calls that were sent. */
  sent(): Pending[]
  /** Takes back what the server asks the client of this call. */
  takeBack(exchange: Exchange, why: string): void
}

interface Waiting {
  readonly pending: Pending
  readonly habit: Habit
  readonly since: number
}

/** The call that is alone, or shares with none but quiet ones. */
interface Holder {
  readonly pending: Pending
  readonly habit: Habit
  since: number
  asking: number
  hasAsked: boolean
  askedAt: number
  resumes: (() => void)[]
}

/**
 * Who may be open at a legacy server whose clients share one stream, where nothing says which call an ask belongs to.
 * An ask is given to a call only while no other can have made it. So that there is such a call, those of things that
 * ask are made one after another, while all others go side by side.
 */
export class Turns {
  readonly #host: TurnsHost
  readonly #askers = new InFlight<Waiting>()
  readonly #quiets = new InFlight<Waiting>()
  #holder: Holder | undefined
  /** Calls that were sent and not answered, the holder's included. */
  #open = 0
  #ticks = 0
  #isTicking = false
  #isAdvancing = false
  /** Quiet calls that go before the next asker, as they waited for the last one. */
  #batch = 0
  readonly #window = new DrainWindow()
  #refused = 0

  constructor(host: TurnsHost) {
    this.#host = host
  }

  /** Calls that wait for their turn. */
  get size(): number {
    return this.#askers.size + this.#quiets.size
  }

  /** Whether a call is taken over, to be sent when its turn comes. */
  holds(pending: Pending): boolean {
    const habit = pending.call === undefined ? undefined : this.#host.habits.of(pending.call)
    if (habit === undefined) return false
    const isQuiet = habit.manner === 'quiet'
    if (this.size >= MAX_WAITING) {
      this.#host.refuse(pending)
      return true
    }
    pending.habit = habit
    if (isQuiet && this.#holder === undefined && this.size === 0) {
      this.#open++
      return false
    }
    const line = isQuiet ? this.#quiets : this.#askers
    line.set(pending.id, { pending, habit, since: this.#ticks })
    this.#advance()
    return true
  }

  /** The only call that can have asked for this; undefined where that cannot be told. */
  only(method: string): Pending | undefined {
    if (this.#open !== 1 || this.#host.cancelled.mayAsk) return undefined
    const only = this.#holder?.pending ?? this.#host.sent().find(({ habit }) => habit !== undefined)
    // A server that asks when nobody calls it may do so at any time.
    const mayBeNobodys = this.#host.habits.asksUncalled && method !== 'roots/list'
    return mayBeNobodys && only?.habit?.manner === 'quiet' ? undefined : only
  }

  /** The only call asks, which is of this exchange; `resumes` follows once. */
  asked(method: string, exchange: Exchange): void {
    const pending = this.only(method)
    if (pending?.habit === undefined || pending.call?.exchange !== exchange) return
    const { habit } = pending
    habit.seen(method)
    this.#holder ??= holding({ pending, habit }, this.#ticks)
    this.#holder.asking++
    this.#holder.hasAsked = true
    this.#holder.askedAt = this.#ticks
  }

  /** Nobody can tell whose ask it was: those that can have asked will be alone, so that the next is told apart. */
  refused(method: string): void {
    const { habits } = this.#host
    const incident = this.#suspects
    if (incident.length === 0) {
      if (method !== 'roots/list') habits.asksUncalled = true
      return
    }
    // What may be nobody's says nothing of the calls beside it.
    if (!habits.asksUncalled) this.#learn(method, incident)
    if (method !== 'roots/list') this.#warn(method)
  }

  /** A reply has come for an ask of this exchange; resolves when it may be passed on. */
  resumes(exchange: Exchange): Promise<void> | undefined {
    const holder = this.#holder
    if (holder?.pending.call?.exchange !== exchange) return undefined
    holder.asking--
    holder.since = this.#ticks
    if (this.#isDrained) return undefined
    return new Promise(resolve => {
      holder.resumes.push(resolve)
      this.#tickOn()
    })
  }

  /** A call was answered: what that tells of it. */
  answered({ habit }: Pending, response: RpcResponse): void {
    habit?.answered(response)
  }

  /** The server is done with a cancelled call: starts those that waited for that. */
  cancelledGone(): void {
    this.#advance()
  }

  /** A call is over, whether its turn had come or not. */
  ended({ id, habit }: Pending): void {
    if (habit === undefined) return
    if (this.#askers.has(id)) this.#askers.delete(id)
    else if (this.#quiets.has(id)) this.#quiets.delete(id)
    else this.#left(id)
    this.#advance()
  }

  /** The link is closed: gives back all that wait. */
  end(): Pending[] {
    const waiting = [...this.#askers.values(), ...this.#quiets.values()].map(({ pending }) => pending)
    for (const { id } of waiting) {
      this.#askers.delete(id)
      this.#quiets.delete(id)
    }
    this.#release()
    return waiting
  }

  get #suspects(): Habit[] {
    const sent = this.#host.sent().flatMap(({ habit }) => habit ?? [])
    return [...new Set([...sent, ...this.#host.cancelled.habits])]
  }

  #learn(method: string, incident: readonly Habit[]): void {
    if (incident.length === 1) incident[0]?.seen(method)
    else for (const habit of incident) habit.suspected(method, incident)
    if (this.#open > 1) this.#holder?.habit.disturbed()
  }

  #warn(method: string): void {
    if (!/^10*$/.test(String(++this.#refused))) return
    this.#host.log.warn(
      'a request of the server was refused, as it could be for any of several calls; with "isolation: session" each client has a server of its own',
      { method, open: this.#open, count: this.#refused },
    )
  }

  get #isDrained(): boolean {
    return this.#open === 1 && !this.#host.cancelled.mayAsk
  }

  #left(id: RpcId): void {
    this.#open--
    if (this.#holder?.pending.id === id) this.#release()
  }

  #release(): void {
    this.#resume()
    this.#holder = undefined
    this.#batch = this.#quiets.size
  }

  #resume(): void {
    for (const resume of this.#holder?.resumes.splice(0) ?? []) resume()
  }

  /** Starts all whose turn has come. What it starts may end at once, and call it again. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    if (this.#isDrained) this.#resume()
    while (this.size > 0 && this.#step());
    this.#isAdvancing = false
    if (this.size > 0) this.#tickOn()
  }

  #step(): boolean {
    const asker = this.#askers.first()
    if (asker?.habit.manner === 'quiet') return this.#goesQuietly(asker)
    if (asker !== undefined && this.#open === 0 && !this.#host.cancelled.mayAsk && this.#batch === 0)
      return this.#startsAlone(asker)
    const quiet = this.#quiets.first()
    if (quiet === undefined) return this.#batch > 0 && ((this.#batch = 0), true)
    return this.#mayPass() && this.#starts(quiet, this.#quiets)
  }

  #goesQuietly(waiting: Waiting): true {
    const { id } = waiting.pending
    this.#askers.delete(id)
    this.#quiets.set(id, waiting)
    return true
  }

  #startsAlone(asker: Waiting): true {
    this.#window.reset()
    this.#holder = holding(asker, this.#ticks)
    return this.#starts(asker, this.#askers)
  }

  #starts({ pending }: Waiting, line: InFlight<Waiting>): true {
    line.delete(pending.id)
    this.#open++
    if (this.#batch > 0) this.#batch--
    this.#host.go(pending)
    return true
  }

  /** Whether a quiet call may start now. */
  #mayPass(): boolean {
    if (this.#holder !== undefined) return this.#isSharing(this.#holder)
    const waits = this.#askers.first()?.habit.manner === 'asks'
    return (
      this.#batch > 0 ||
      !waits ||
      this.#host.cancelled.mayAsk ||
      !this.#window.isOpen(this.#ticks, this.#host.sent)
    )
  }

  /** What was not seen to ask keeps nobody waiting; a call that waits for its client's reply does nothing, and what has not asked for long may never. */
  #isSharing({ habit, since, asking, askedAt, resumes }: Holder): boolean {
    if (resumes.length > 0) return false
    if (asking > 0) return this.#ticks - askedAt >= SETTLE
    return habit.manner !== 'asks' || this.#ticks - since >= (habit.isJealous ? DISTURBED : ALONE)
  }

  #tickOn(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#host.clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#isTicking = false
    this.#ticks++
    for (const waiting of this.#askers.values()) if (this.#isTried(waiting)) this.#goesQuietly(waiting)
    const holder = this.#holder
    if (holder !== undefined) this.#watch(holder)
    this.#advance()
    if ((this.#holder?.resumes.length ?? 0) > 0) this.#tickOn()
  }

  #watch(holder: Holder): void {
    const { pending, asking, since, askedAt, resumes } = holder
    if (resumes.length > 0 && this.#ticks - since >= RESUME) this.#resume()
    if (asking === 0 && this.#isTried(holder)) this.#release()
    if (asking > 0 && this.size > 0 && this.#ticks - askedAt >= THINK && pending.call !== undefined)
      this.#host.takeBack(pending.call.exchange, TOO_LONG)
  }

  /** Whether a thing had its chance to ask alone. */
  #isTried({ habit: { manner }, since }: { readonly habit: Habit; readonly since: number }): boolean {
    return manner === 'quiet' || (manner !== 'asks' && this.#ticks - since >= TRIAL)
  }
}

function holding({ pending, habit }: Pick<Waiting, 'pending' | 'habit'>, since: number): Holder {
  return { pending, habit, since, asking: 0, hasAsked: false, askedAt: 0, resumes: [] }
}
