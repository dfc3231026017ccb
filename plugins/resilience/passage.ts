import {
  type Answer,
  type Call,
  type Clock,
  type Dispatch,
  type GatewayError,
  gatewayError,
  reasonOf,
} from '../../src/plugin.ts'
import type { Alarm, Alarms } from './alarms.ts'
import type { Breaker } from './breaker.ts'
import { type Failure, failureOf } from './failures.ts'
import type { Retries } from './retries.ts'
import type { Turns, Waiter } from './turns.ts'

/** What a passage goes through. */
export interface PassageHost {
  readonly turns: Turns
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slow: Alarms<Passage>
  readonly patience: Alarms<Passage>
  readonly latency: number
  readonly queueTimeout: number
  callerOf(call: Call): string
  deadlines(ms: number): Alarms<Passage>
  turned(): void
  busy(why: string): GatewayError
  resting(): GatewayError
}

/** What a passage is made of. */
export interface PassageInit {
  readonly call: Call
  readonly next: Dispatch
  readonly bulkhead: PassageHost
  /** Milliseconds for it all; 0 means no limit. */
  readonly ms: number
  /** Whether its tool is known to take long, so that it is never slow. */
  readonly isPatient: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** `waiting` for a turn, `away` at the upstream, `pausing` before another try. */
type Phase = 'new' | 'waiting' | 'away' | 'pausing' | 'over'

/** One call on its way through a bulkhead. It ends exactly once. */
export class Passage implements Waiter {
  readonly #init: PassageInit
  #phase: Phase = 'new'
  #deadline: Alarm<Passage> | undefined = undefined
  #slow: Alarm<Passage> | undefined = undefined
  #patience: Alarm<Passage> | undefined = undefined
  /** Takes back what was asked for while it waits or pauses. */
  #takeBack: (() => void) | undefined = undefined
  #takeBackPause: (() => void) | undefined = undefined
  #ticket = 0
  #attempt = 0
  #wasSlow = false

  constructor(init: PassageInit) {
    this.#init = init
  }

  get caller(): string {
    return this.#init.bulkhead.callerOf(this.#init.call)
  }

  /** Sets out. The time counts from the arrival of the request, but for one whose client was asked something first. */
  start(): void {
    const { ms, bulkhead, call } = this.#init
    if (ms > 0) {
      const now = bulkhead.clock.now()
      const at = (call.exchange.touched ? now : call.exchange.startedAt) + ms
      if (at <= now) return this.expired()
      this.#deadline = bulkhead.deadlines(ms).set(this, at)
    }
    this.#enter()
  }

  begin(): void {
    this.#stopWaiting()
    this.#init.bulkhead.turned()
    this.#go()
  }

  pushedOut(): void {
    this.#refuse('another caller, who has less in its queue, took the place')
  }

  waitedTooLong(): void {
    const { bulkhead } = this.#init
    this.#end(bulkhead.busy(`no turn within ${bulkhead.queueTimeout} ms`))
  }

  /** Its time is over. */
  expired(): void {
    const { ms, bulkhead, call } = this.#init
    // The server waits for its client, which may take its time.
    if (call.exchange.asking > 0 && this.#phase === 'away') {
      this.#deadline = bulkhead.deadlines(ms).set(this, bulkhead.clock.now() + ms)
      return
    }
    const why = `no answer within ${ms} ms`
    if (this.#phase === 'away') bulkhead.breaker?.failed(this.#ticket, why)
    const error =
      this.#phase === 'waiting'
        ? bulkhead.busy(`no turn within ${ms} ms`)
        : gatewayError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms })
    this.#end(error, why)
  }

  /** It has been away for as long as makes a call slow. */
  isSlow(): void {
    const { bulkhead, call } = this.#init
    if (call.exchange.asking > 0) return this.#watch()
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
    this.#takeBack = call.onCancel(this.#cancelled)
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

  #watch(): void {
    const { bulkhead, isPatient } = this.#init
    if (!isPatient) this.#slow = bulkhead.slow.set(this, bulkhead.clock.now() + bulkhead.latency)
  }

  #answered(answer: Answer): void {
    if (this.#phase !== 'away') return
    const { bulkhead, call, resolve } = this.#init
    if (call.exchange.cancelled) bulkhead.breaker?.left(this.#ticket)
    else bulkhead.breaker?.answered(this.#ticket, this.#wasSlow)
    const hadTurn = this.#close()
    resolve(answer)
    if (hadTurn) bulkhead.turns.done(this)
  }

  #failed(error: unknown): void {
    if (this.#phase !== 'away') return
    const { bulkhead, call } = this.#init
    const failure = failureOf(error)
    if (failure.isIll && !call.exchange.cancelled) bulkhead.breaker?.failed(this.#ticket, reasonOf(error))
    else bulkhead.breaker?.left(this.#ticket)
    const pauseMs = this.#pauseMs(failure)
    if (pauseMs === undefined) this.#end(error)
    else this.#pause(pauseMs)
  }

  #pauseMs(failure: Failure): number | undefined {
    const { bulkhead, call } = this.#init
    const { breaker, retries, clock } = bulkhead
    if (retries === undefined || breaker?.isShut === true) return undefined
    const leftMs = this.#deadline === undefined ? Infinity : this.#deadline.at - clock.now()
    return retries.pauseMs(call, failure, this.#attempt, leftMs)
  }

  /** Gives its turn to others until the next try. */
  #pause(ms: number): void {
    const { bulkhead, call } = this.#init
    this.#phase = 'pausing'
    this.#unwatch()
    bulkhead.turns.done(this)
    this.#takeBackPause = bulkhead.clock.after(ms, () => {
      this.#stopWaiting()
      this.#enter()
    })
    this.#takeBack = call.onCancel(this.#cancelled)
  }

  /** The client went while nothing had been sent. */
  readonly #cancelled = (): void => {
    if (this.#phase === 'waiting' || this.#phase === 'pausing') this.#end(gatewayError('GW_CANCELLED'))
  }

  #refuse(why: string): void {
    const { bulkhead } = this.#init
    this.#end(bulkhead.breaker?.isShut === true ? bulkhead.resting() : bulkhead.busy(why))
  }

  #end(error: unknown, cancelBecause?: string): void {
    const { bulkhead, call, reject } = this.#init
    const hadTurn = this.#close()
    // First, so that what the upstream makes of the cancellation comes second.
    reject(error)
    if (cancelBecause !== undefined) call.cancel(cancelBecause)
    // Last, so that the upstream hears of the cancellation before it gets the next call.
    if (hadTurn) bulkhead.turns.done(this)
  }

  /** Leaves nothing behind; true when it has a turn to give back. */
  #close(): boolean {
    const { bulkhead, ms } = this.#init
    const phase = this.#phase
    this.#phase = 'over'
    if (this.#deadline !== undefined) bulkhead.deadlines(ms).take(this.#deadline)
    this.#unwatch()
    this.#stopWaiting()
    if (phase === 'waiting') bulkhead.turns.leaves(this)
    return phase === 'away'
  }

  #unwatch(): void {
    if (this.#slow !== undefined) this.#init.bulkhead.slow.take(this.#slow)
    this.#slow = undefined
    this.#wasSlow = false
  }

  #stopWaiting(): void {
    if (this.#patience !== undefined) this.#init.bulkhead.patience.take(this.#patience)
    this.#takeBackPause?.()
    this.#takeBack?.()
    this.#patience = undefined
    this.#takeBackPause = undefined
    this.#takeBack = undefined
  }
}
