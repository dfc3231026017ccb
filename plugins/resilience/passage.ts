import type { Answer, AskWatcher, Call, Clock, Dispatch } from '../../src/plugin.ts'
import { callerKey, gatewayError, GatewayError, getErrorMessage } from '../../src/plugin.ts'
import type { Alarm, Alarms } from './alarms.ts'
import type { Asking, Timeout } from './settings.ts'
import { resilienceError } from './settings.ts'
import type { Breaker } from './breaker.ts'
import type { Failure, Retries } from './retries.ts'
import { failureOf } from './retries.ts'
import type { Turns, Waiter } from './turns.ts'

/** The parts of a bulkhead that its calls share. */
export interface PassageHost {
  readonly turns: Turns
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slow: Alarms<GuardedCall>
  readonly patience: Alarms<GuardedCall>
  /** Milliseconds after which a call is slow, and for which it may wait for its turn; 0 means none. */
  readonly latency: number
  readonly queueTimeout: number
  readonly asking: Asking
  /** The alarms of deadlines of this length. */
  deadlines(ms: number): Alarms<GuardedCall>
  /** Time at which a waiting call went on last. */
  readonly turnAt: number
  /** Notes that a waiting call goes on: how long that takes is said to calls that are refused. */
  turned(): void
  /** The error of a call that got no turn. */
  busy(why: string): GatewayError
  /** The error of a call that a rest keeps back. */
  resting(): GatewayError
}

/** One call with its deadline and the two ends of its promise. */
interface PassageInit {
  readonly call: Call
  readonly next: Dispatch
  readonly bulkhead: PassageHost
  readonly timeout: Timeout
  /** True for a tool that is known to take long, so that it is never slow. */
  readonly isPatient: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * `waiting` for a turn, `away` at the upstream, `asking` its client while it is there, `returning` when that has replied and there is no
 * turn yet, `pausing` before another try.
 */
type Phase = 'new' | 'waiting' | 'away' | 'asking' | 'returning' | 'pausing' | 'over'

/** A reply waits for no turn where no call has got one for so long: those that have them may wait for what the reply lets go on. */
const STUCK_MS = 1000

const TOO_MANY = 'too many calls of its caller wait for their clients'
const NO_TURN_AGAIN = 'there was no turn for it after its client was asked'

const AT_UPSTREAM: ReadonlySet<Phase> = new Set<Phase>(['away', 'asking', 'returning'])

/**
 * One call on its way through a bulkhead. It ends exactly once. While its client is asked, its deadline stands still and its turn is for
 * others: a person may think for longer than any server works. The reply goes on when the call has a turn again, or beside the others
 * where nothing moves: a server that does one thing after the other keeps their calls waiting for this one.
 */
export class GuardedCall implements Waiter, AskWatcher {
  readonly #init: PassageInit
  #phase: Phase = 'new'
  #deadline: Alarm<GuardedCall> | undefined = undefined
  #slow: Alarm<GuardedCall> | undefined = undefined
  #patience: Alarm<GuardedCall> | undefined = undefined
  /** Stops listening for a cancellation while it waits or pauses. */
  #unlisten: (() => void) | undefined = undefined
  #endPause: (() => void) | undefined = undefined
  /** Lets the reply of its client go on; false keeps it back. */
  #goOn: ((isUnderWay: boolean) => void) | undefined = undefined
  /** Times of the clock at which it expires, unless there is progress, and at which it expires anyway. */
  #dueAt = Infinity
  #latestAt = Infinity
  #stoppedAt = 0
  #ticket = 0
  #attempt = 0
  #wasSlow = false
  /** True while it is at the upstream without a turn. */
  #isBeside = false

  constructor(init: PassageInit) {
    this.#init = init
  }

  get caller(): string {
    return callerKey(this.#init.call.exchange.session)
  }

  /** Starts it. The time counts from the arrival of the request, but for one whose client was asked something first. */
  start(): void {
    const { timeout, bulkhead, call } = this.#init
    if (timeout.idle > 0) {
      const now = bulkhead.clock.now()
      const from = call.exchange.hasReachedClient ? now : call.exchange.startedAt
      this.#dueAt = from + timeout.idle
      this.#latestAt = from + timeout.total
      if (this.#dueAt <= now) return this.expired()
      this.#setDeadline()
    }
    call.exchange.watchAsks(this)
    this.#enter()
  }

  begin(): void {
    this.#init.bulkhead.turned()
    this.#stopWaiting()
    if (this.#phase === 'returning') this.#goesOn()
    else this.#go()
  }

  onAskStart(): void {
    const { bulkhead } = this.#init
    if (this.#phase !== 'away' && this.#phase !== 'returning') return
    if (!bulkhead.asking.enter(this.caller)) return this.#giveUp(bulkhead.busy(TOO_MANY), TOO_MANY)
    const isReturning = this.#phase === 'returning'
    const hadTurn = !isReturning && !this.#isBeside
    this.#phase = 'asking'
    this.#isBeside = false
    this.#stopTime()
    if (hadTurn && !bulkhead.turns.isSingle) bulkhead.turns.done(this)
    if (!isReturning) return
    // The reply to the ask before goes on now, as it would beside this one.
    this.#stopWaiting()
    bulkhead.turns.leaves(this)
    this.#letGoOn(true)
  }

  onAskEnd(): Promise<boolean> | undefined {
    const { turns, clock, asking, patience } = this.#init.bulkhead
    if (this.#phase !== 'asking') return undefined
    asking.leave(this.caller)
    const askedMs = clock.now() - this.#stoppedAt
    this.#dueAt += askedMs
    this.#latestAt += askedMs
    this.#setDeadline()
    if (turns.isSingle || turns.takes(this)) {
      this.#goesOn()
      return undefined
    }
    this.#phase = 'returning'
    turns.comesBack(this)
    this.#patience = patience.set(this, clock.now() + STUCK_MS)
    return new Promise(resolve => (this.#goOn = resolve))
  }

  /** Its server reports progress: the idle time begins again. */
  onProgress(): void {
    const { timeout, bulkhead } = this.#init
    const at = Math.min(bulkhead.clock.now() + timeout.idle, this.#latestAt)
    if (this.#phase === 'away') this.#dueAt = Math.max(this.#dueAt, at)
  }

  pushedOut(): void {
    const { bulkhead } = this.#init
    const why = 'another caller, who has less in its queue, took the place'
    const error = bulkhead.breaker?.isShut === true ? bulkhead.resting() : bulkhead.busy(why)
    if (this.#phase === 'returning') this.#giveUp(error, NO_TURN_AGAIN)
    else this.#end(error)
  }

  waitedTooLong(): void {
    const { bulkhead } = this.#init
    if (this.#phase === 'returning') this.#mayGoBeside()
    else this.#end(bulkhead.busy(`no turn within ${bulkhead.queueTimeout} ms`))
  }

  /** Goes on without a turn where nothing moves: one reply at a time, so that many at once are not as many more calls. */
  #mayGoBeside(): void {
    const { turns, clock, patience, turnAt } = this.#init.bulkhead
    const at = turnAt + STUCK_MS
    if (clock.now() < at) {
      this.#patience = patience.set(this, at)
      return
    }
    this.#init.bulkhead.turned()
    turns.leaves(this)
    this.#isBeside = true
    this.#goesOn()
  }

  /** Its time is over, unless there was progress since the alarm was set. */
  expired(): void {
    const { timeout, bulkhead, call } = this.#init
    if (this.#dueAt > bulkhead.clock.now()) return this.#setDeadline()
    const ms = this.#dueAt === this.#latestAt ? timeout.total : timeout.idle
    const noTurn = `no turn within ${ms} ms`
    if (this.#phase === 'waiting') return this.#end(bulkhead.busy(noTurn))
    if (this.#phase === 'returning') return this.#giveUp(bulkhead.busy(noTurn), NO_TURN_AGAIN)
    const why = `no answer within ${ms} ms`
    const tool = call.method === 'tools/call' ? call.params?.name : undefined
    if (this.#phase === 'away') bulkhead.breaker?.timedOut(this.#ticket, tool, why)
    this.#end(resilienceError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms }), why)
  }

  /** Called when the call has run for as long as makes it slow. */
  isSlow(): void {
    const { bulkhead } = this.#init
    this.#wasSlow = true
    bulkhead.breaker?.slow(this.#ticket)
  }

  #enter(): void {
    const { bulkhead, call } = this.#init
    const { turns, breaker } = bulkhead
    if (breaker?.isShut === true) return this.#end(bulkhead.resting())
    if (turns.takes(this)) return this.#go()
    if (!turns.waits(this)) return this.#end(bulkhead.busy('its queue is full'))
    this.#phase = 'waiting'
    if (bulkhead.queueTimeout > 0)
      this.#patience = bulkhead.patience.set(this, bulkhead.clock.now() + bulkhead.queueTimeout)
    this.#unlisten = call.onCancel(this.#cancelled)
  }

  /** Has a turn. */
  #go(): void {
    const { bulkhead, call, next } = this.#init
    const { breaker, retries } = bulkhead
    this.#phase = 'away'
    if (breaker !== undefined) {
      this.#ticket = breaker.enter()
      if (this.#ticket === 0) return this.#end(bulkhead.resting())
    }
    if (++this.#attempt === 1) retries?.began()
    if (bulkhead.latency > 0) this.#watch()
    try {
      next(call).then(
        answer => this.#answered(answer),
        (error: unknown) => this.#failed(error),
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Goes on at the upstream, where its client has replied. */
  #goesOn(): void {
    this.#phase = 'away'
    if (this.#init.bulkhead.latency > 0 && !this.#wasSlow) this.#watch()
    this.#letGoOn(true)
  }

  #letGoOn(isUnderWay: boolean): void {
    this.#goOn?.(isUnderWay)
    this.#goOn = undefined
  }

  #setDeadline(): void {
    const { timeout, bulkhead } = this.#init
    if (timeout.idle > 0) this.#deadline = bulkhead.deadlines(timeout.idle).set(this, this.#dueAt)
  }

  /** Lets nothing ring while its client is asked. */
  #stopTime(): void {
    const { timeout, bulkhead } = this.#init
    this.#stoppedAt = bulkhead.clock.now()
    if (this.#deadline !== undefined) {
      bulkhead.deadlines(timeout.idle).take(this.#deadline)
      this.#deadline = undefined
    }
    if (this.#slow !== undefined) bulkhead.slow.take(this.#slow)
    this.#slow = undefined
  }

  #watch(): void {
    const { bulkhead, isPatient } = this.#init
    if (!isPatient) this.#slow = bulkhead.slow.set(this, bulkhead.clock.now() + bulkhead.latency)
  }

  #answered(answer: Answer): void {
    if (!AT_UPSTREAM.has(this.#phase)) return
    const { bulkhead, call, resolve } = this.#init
    if (call.exchange.cancelled) bulkhead.breaker?.left(this.#ticket)
    else bulkhead.breaker?.answered(this.#ticket, this.#wasSlow)
    const hadTurn = this.#close()
    resolve(answer)
    if (hadTurn) bulkhead.turns.done(this)
  }

  #failed(error: unknown): void {
    if (!AT_UPSTREAM.has(this.#phase)) return
    const { bulkhead, call } = this.#init
    const failure = failureOf(error)
    const detail = error instanceof GatewayError ? error.detail : undefined
    if (failure.isIll && !call.exchange.cancelled)
      bulkhead.breaker?.failed(this.#ticket, getErrorMessage(error), detail)
    else bulkhead.breaker?.left(this.#ticket)
    const pauseMs = this.#pauseMs(failure)
    if (pauseMs === undefined) this.#end(error)
    else this.#pause(pauseMs)
  }

  #pauseMs(failure: Failure): number | undefined {
    const { bulkhead, call } = this.#init
    const { breaker, retries, clock } = bulkhead
    if (retries === undefined || breaker?.isShut === true || this.#phase !== 'away') return undefined
    return retries.pauseMs(call, failure, this.#attempt, this.#dueAt - clock.now())
  }

  /** Gives its turn to others until the next try. */
  #pause(ms: number): void {
    const { bulkhead, call } = this.#init
    this.#phase = 'pausing'
    this.#unwatch()
    if (!this.#isBeside) bulkhead.turns.done(this)
    this.#isBeside = false
    this.#endPause = bulkhead.clock.after(ms, () => {
      this.#stopWaiting()
      this.#enter()
    })
    this.#unlisten = call.onCancel(this.#cancelled)
  }

  /** The client went while nothing had been sent. */
  readonly #cancelled = (): void => {
    if (this.#phase === 'waiting' || this.#phase === 'pausing') this.#end(gatewayError('GW_CANCELLED'))
  }

  /** Ends a call at the upstream for reasons that are not the upstream's. */
  #giveUp(error: GatewayError, why: string): void {
    this.#init.bulkhead.breaker?.left(this.#ticket)
    this.#end(error, why)
  }

  #end(error: unknown, cancelBecause?: string): void {
    const { bulkhead, call, reject } = this.#init
    const hadTurn = this.#close()
    // First, so that what the upstream makes of the cancellation comes second.
    reject(error)
    if (cancelBecause !== undefined) call.cancel(cancelBecause)
    // Last, so that the upstream gets the cancellation before the next call.
    if (hadTurn) bulkhead.turns.done(this)
  }

  /** Leaves nothing behind; true when it has a turn to give back. */
  #close(): boolean {
    const { bulkhead, call, timeout } = this.#init
    const phase = this.#phase
    this.#phase = 'over'
    if (this.#deadline !== undefined) bulkhead.deadlines(timeout.idle).take(this.#deadline)
    this.#unwatch()
    this.#stopWaiting()
    call.exchange.unwatchAsks(this)
    if (phase === 'asking') bulkhead.asking.leave(this.caller)
    if (phase === 'waiting' || phase === 'returning') bulkhead.turns.leaves(this)
    this.#letGoOn(false)
    return (phase === 'away' && !this.#isBeside) || (phase === 'asking' && bulkhead.turns.isSingle)
  }

  #unwatch(): void {
    if (this.#slow !== undefined) this.#init.bulkhead.slow.take(this.#slow)
    this.#slow = undefined
    this.#wasSlow = false
  }

  #stopWaiting(): void {
    if (this.#patience !== undefined) this.#init.bulkhead.patience.take(this.#patience)
    this.#endPause?.()
    this.#unlisten?.()
    this.#patience = undefined
    this.#endPause = undefined
    this.#unlisten = undefined
  }
}
