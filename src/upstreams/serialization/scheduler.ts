import type { Clock, Exchange, Log } from '../../api/index.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import { InFlight } from '../../transport/id-map.ts'
import type { Pending } from '../transport.ts'
import type { CancelledCalls } from './cancelled-calls.ts'
import { DrainWindow } from './drain-window.ts'
import { SchedulingSlot, TRIAL } from './scheduling-slot.ts'
import type { Behaviour, Behaviours } from './tool-behaviour.ts'

/** The unit of all times, which pass only while somebody waits: a gateway that is late is late for all. */
const TICK_MS = 50
/** How long calls that ask wait for a connection that does not come free. */
const BLOCKED = 200
/** How long a call of a tool that was not seen to ask waits for cancelled calls of other clients, which can ask no longer then. */
const CLAIMED = 60
/** Calls that wait; more fail at once. */
const MAX_WAITING = 10_000
const TOO_LONG = 'the client did not answer in time, and others wait'

/** Dependencies of the scheduler: its link. */
export interface SchedulerHost {
  readonly clock: Clock
  readonly log: Log
  readonly behaviours: Behaviours
  /** Calls that nobody waits for, while the server may still ask for them. */
  readonly cancelled: CancelledCalls
  /** Sends a call. */
  go(pending: Pending): void
  /** Fails a call for which there is no room. */
  refuse(pending: Pending): void
  /** The calls that were sent. */
  sent(): Pending[]
  /** Whether the server waits for a reply of this exchange's client. */
  isAsked(exchange: Exchange): boolean
  /** Takes back what the server asks the client of this exchange. */
  takeBack(exchange: Exchange, why: string): void
}

interface Waiting {
  readonly pending: Pending
  readonly behaviour: Behaviour
  readonly since: number
}

/**
 * Schedules the calls of a legacy connection that all clients share, where nothing says which call a request of the server
 * belongs to. A request is given to a client only while exactly one call is open. So that there is such a moment, calls of
 * tools that ask are exclusive: one runs at a time, alone. All others go side by side. A cancelled call counts as open while
 * it may still ask, but not to its own client, who may be asked for it as well as for the next call.
 */
export class Scheduler {
  readonly #host: SchedulerHost
  readonly #exclusive = new InFlight<Waiting>()
  readonly #others = new InFlight<Waiting>()
  #slot: SchedulingSlot | undefined
  /** Calls that were sent and not answered. */
  #open = 0
  #ticks = 0
  /** When an exclusive call last came on. */
  #movedAt = 0
  /** Whether all calls go side by side, as one does not end. */
  #isBlocked = false
  /** Whether those that waited for the last exclusive call go before the next. */
  #flushes = false
  #isTicking = false
  #isAdvancing = false
  readonly #window = new DrainWindow()
  #refused = 0

  constructor(host: SchedulerHost) {
    this.#host = host
  }

  /** Calls that wait to be sent. */
  get size(): number {
    return this.#exclusive.size + this.#others.size
  }

  /** Whether a call is taken over, to be sent later. */
  holds(pending: Pending): boolean {
    const behaviour = pending.call === undefined ? undefined : this.#host.behaviours.of(pending.call)
    if (behaviour === undefined) return false
    if (this.size >= MAX_WAITING) {
      this.#host.refuse(pending)
      return true
    }
    pending.behaviour = behaviour
    const goesBeside = behaviour.isQuiet || this.#isBlocked
    if (goesBeside && this.#slot === undefined && this.size === 0) {
      this.#open++
      return false
    }
    this.#wait({ pending, behaviour, since: this.#ticks }, goesBeside)
    return true
  }

  /** The only call that can have asked for this; undefined where that cannot be told. */
  only(method: string): Pending | undefined {
    if (this.#open !== 1) return undefined
    const only = this.#slot?.pending ?? this.#host.sent().find(({ behaviour }) => behaviour !== undefined)
    if (only === undefined || this.#mayBeOthers(only)) return undefined
    const mayBeNobodys = this.#host.behaviours.asksUncalled && method !== 'roots/list'
    return mayBeNobodys && only.behaviour?.isQuiet === true ? undefined : only
  }

  /** Whether a call counts as one that asks: its tool is new, or was seen to, and the server does not ask out of turn. */
  asks({ behaviour }: Pending): boolean {
    return !this.#host.behaviours.asksUncalled && behaviour?.isQuiet === false
  }

  /** The client of this exchange is asked; `resumes` follows once. */
  asked(method: string, exchange: Exchange): void {
    const pending = this.only(method)
    if (pending?.behaviour === undefined || pending.call?.exchange !== exchange) return
    learn(method, this.#suspects([pending]))
    this.#slot ??= new SchedulingSlot(pending, pending.behaviour, this.#ticks)
    this.#slot.asked(this.#ticks)
  }

  /** A request came that any of several calls can have caused: those will be alone, so that the next is told apart. */
  refused(method: string): void {
    const { behaviours, log } = this.#host
    const suspects = this.#suspects(this.#host.sent())
    if (suspects.length === 0) {
      if (method !== 'roots/list') behaviours.asksUncalled = true
      return
    }
    if (!behaviours.asksUncalled) learn(method, suspects)
    if (this.#open > 1) this.#slot?.behaviour.disturbed()
    if (method === 'roots/list' || !/^10*$/.test(String(++this.#refused))) return
    log.warn(
      'a request of the server was refused, as it could be for any of several calls; with "isolation: session" each client has a server of its own',
      { method, open: this.#open, count: this.#refused },
    )
  }

  /** A reply has come of the client of this exchange; resolves when it may be passed on. */
  resumes(exchange: Exchange): Promise<void> | undefined {
    const slot = this.#slot
    if (slot?.pending.call?.exchange !== exchange) return undefined
    slot.replied(this.#ticks)
    this.#movedAt = this.#ticks
    if (this.#isLast(slot)) return undefined
    this.#tickOn()
    return slot.untilAlone()
  }

  /** A call was answered: what that tells of its tool, and of its server. */
  answered({ behaviour, call }: Pending, response: RpcResponse): void {
    if (behaviour === undefined || call === undefined) return
    behaviour.answered(response)
    if (behaviour.asks && this.#host.isAsked(call.exchange) && behaviour.didNotWait())
      this.#host.behaviours.asksUncalled = true
  }

  /** The server is done with a cancelled call: starts those that waited for that. */
  cancelledGone(): void {
    this.#advance()
  }

  /** A call is over, whether it was sent or not. */
  ended({ id, behaviour }: Pending): void {
    if (behaviour === undefined) return
    if (this.#exclusive.has(id)) this.#exclusive.delete(id)
    else if (this.#others.has(id)) this.#others.delete(id)
    else {
      this.#open--
      if (this.#slot?.pending.id === id) this.#release()
    }
    this.#advance()
  }

  /** The connection is closed: gives back all that wait. */
  end(): Pending[] {
    const waiting = [...this.#exclusive.values(), ...this.#others.values()].map(({ pending }) => pending)
    for (const { id } of waiting) {
      this.#exclusive.delete(id)
      this.#others.delete(id)
    }
    this.#release()
    return waiting
  }

  /** Whether the exclusive call is the only one that is open. */
  #isLast({ pending }: SchedulingSlot): boolean {
    return this.#open === 1 && !this.#mayBeOthers(pending)
  }

  /** Whether an exclusive call may start. */
  #isFree({ pending }: Waiting): boolean {
    return this.#open === 0 && !this.#mayBeOthers(pending)
  }

  /** Whether what the server asks may be for a cancelled call of another client. */
  #mayBeOthers({ call }: Pending): boolean {
    return this.#host.cancelled.mayAskBut(call?.exchange.session)
  }

  /** The observed behaviour of those of which one has asked. */
  #suspects(open: readonly Pending[]): Behaviour[] {
    const behaviours = open.flatMap(({ behaviour }) => behaviour ?? [])
    return [...new Set([...behaviours, ...this.#host.cancelled.behaviours])]
  }

  #wait(waiting: Waiting, goesBeside: boolean): void {
    if (!goesBeside && this.#exclusive.size === 0) this.#movedAt = this.#ticks
    const line = goesBeside ? this.#others : this.#exclusive
    line.set(waiting.pending.id, waiting)
    this.#advance()
  }

  #release(): void {
    this.#slot?.resume()
    this.#slot = undefined
    this.#movedAt = this.#ticks
    this.#flushes = true
  }

  /** Starts all that may go. What it starts may end at once, and call it again. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    if (this.#slot !== undefined && this.#isLast(this.#slot)) this.#slot.resume()
    if (this.#open === 0 && !this.#host.cancelled.mayAsk) this.#isBlocked = false
    while (this.size > 0 && this.#step());
    this.#isAdvancing = false
    if (this.size > 0) this.#tickOn()
  }

  #step(): boolean {
    const other = this.#others.first()
    this.#flushes &&= other !== undefined
    const exclusive = this.#exclusive.first()
    if (exclusive !== undefined && this.#isFree(exclusive) && !this.#flushes)
      return this.#startAlone(exclusive)
    // Looked at although nobody may be kept back yet: its time begins when an exclusive call waits.
    const isKept = this.#keepsBack()
    return other !== undefined && !isKept && this.#start(other, this.#others)
  }

  #startAlone(waiting: Waiting): true {
    this.#window.reset()
    this.#slot = new SchedulingSlot(waiting.pending, waiting.behaviour, this.#ticks)
    this.#movedAt = this.#ticks
    return this.#start(waiting, this.#exclusive)
  }

  #start({ pending }: Waiting, line: InFlight<Waiting>): true {
    line.delete(pending.id)
    this.#open++
    this.#host.go(pending)
    return true
  }

  /** Whether calls that go side by side wait, as one is alone or about to be. */
  #keepsBack(): boolean {
    if (this.#slot !== undefined) return this.#slot.isAlone(this.#ticks)
    const exclusive = this.#exclusive.first()
    if (this.#flushes || exclusive?.behaviour.asks !== true || this.#mayBeOthers(exclusive.pending))
      return false
    return this.#window.isOpen(this.#ticks, this.#host.sent)
  }

  #tickOn(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#host.clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#isTicking = false
    this.#ticks++
    const slot = this.#slot
    slot?.tick(this.#ticks)
    if (slot?.isTried(this.#ticks) === true) this.#release()
    if (this.size > 0 && slot?.isTooLong(this.#ticks) === true && slot.pending.call !== undefined)
      this.#host.takeBack(slot.pending.call.exchange, TOO_LONG)
    this.#letBeside()
    this.#advance()
    if (this.#slot?.isResuming === true) this.#tickOn()
  }

  /** Calls that were to be alone and need not be, or cannot be soon, go beside the others. */
  #letBeside(): void {
    const isStuck = this.#exclusive.size > 0 && this.#ticks - this.#movedAt >= BLOCKED
    if (isStuck && this.#slot?.isAsking !== true) this.#block()
    for (const waiting of this.#exclusive.values()) {
      const { id } = waiting.pending
      if (!this.#isBlocked && !this.#mayGoBeside(waiting)) continue
      this.#exclusive.delete(id)
      this.#others.set(id, waiting)
    }
  }

  /** Whether a call need not be alone: its tool is quiet, or was not seen to ask while it waited for long enough. */
  #mayGoBeside({ pending, behaviour, since }: Waiting): boolean {
    if (behaviour.asks || behaviour.isQuiet) return behaviour.isQuiet
    const isClaimed = this.#open === 0 && this.#mayBeOthers(pending)
    return this.#ticks - since >= (isClaimed ? CLAIMED : TRIAL)
  }

  /** A call does not end: nobody is asked until it has. */
  #block(): void {
    this.#isBlocked = true
    this.#release()
    this.#host.log.warn(
      'calls that ask go beside one that does not end, and their requests are refused meanwhile; with "isolation: session" each client has a server of its own',
      { waiting: this.#exclusive.size, open: this.#open },
    )
  }
}

/** One suspect has asked, and of several one that asks may: nothing is learnt of the others then. */
function learn(method: string, suspects: readonly Behaviour[]): void {
  if (suspects.length === 1) suspects[0]?.asked(method)
  else if (!suspects.some(({ asks }) => asks)) for (const one of suspects) one.suspected(method)
}
