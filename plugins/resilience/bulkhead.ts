import {
  type Answer,
  type Call,
  callerKey,
  type Clock,
  type Dispatch,
  gatewayError,
  GatewayError,
  type JsonObject,
  type Log,
  reasonOf,
} from '../../src/plugin.ts'
import { type Alarm, Alarms } from './alarms.ts'
import { Breaker } from './breaker.ts'
import { resilienceError } from './errors.ts'
import { type Failure, failureOf, Retries } from './retries.ts'
import { ownTimeout, type Settings } from './settings.ts'
import { Turns, type Waiter } from './turns.ts'

/** Dependencies of a bulkhead. */
interface BulkheadHost {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  random(): number
}

/** A probe that has no deadline makes room for the next one after this long. */
const PROBE_MS = 60_000

const SHORTEST_WAIT_MS = 100

const LONGEST_WAIT_MS = 30_000

/** Weight of the newest pause between two turns. */
const NEWEST = 0.2

/** Keeps one upstream's trouble from everybody else: deadlines, turns, a breaker and retries for all of its calls. */
export class Bulkhead {
  readonly turns: Turns
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slow: Alarms<Passage>
  readonly patience: Alarms<Passage>
  readonly latency: number
  readonly queueTimeout: number
  /** Calls that were refused a place, or lost it. */
  refused = 0
  readonly #settings: Settings
  readonly #upstream: string
  /** Alarms by how long they last: those of one length come in order. */
  readonly #deadlines = new Map<number, Alarms<Passage>>()
  #turnAt = 0
  #turnEveryMs = 0

  constructor(settings: Settings, { upstream, clock, log, random }: BulkheadHost) {
    this.#settings = settings
    this.#upstream = upstream
    this.clock = clock
    this.queueTimeout = settings.turns.queueTimeout
    this.latency = settings.breaker?.latency ?? 0
    this.turns = new Turns(settings.turns, clock)
    this.slow = new Alarms(clock, passage => passage.isSlow())
    this.patience = new Alarms(clock, passage => passage.waitedTooLong())
    this.retries = settings.retry === undefined ? undefined : new Retries(settings.retry, random)
    this.breaker =
      settings.breaker === undefined
        ? undefined
        : new Breaker(settings.breaker, {
            upstream,
            clock,
            log,
            random,
            probeMs: Math.max(settings.timeout, PROBE_MS),
            opened: () => this.turns.clear(waiter => waiter.pushedOut()),
          })
  }

  /** Takes a call through. Rejects with a GatewayError when it was refused, failed, or took too long. */
  run(call: Call, next: Dispatch): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const own = ownTimeout(this.#settings, call)
      const ms = own ?? this.#settings.timeout
      new Passage({ call, next, bulkhead: this, ms, isPatient: own !== undefined, resolve, reject }).start()
    })
  }

  /** The caller that must not fill the queue. */
  callerOf({ exchange }: Call): string {
    return callerKey(exchange.session)
  }

  /** The alarms of deadlines of this length. */
  deadlines(ms: number): Alarms<Passage> {
    let alarms = this.#deadlines.get(ms)
    if (alarms === undefined) {
      alarms = new Alarms(this.clock, passage => passage.expired())
      this.#deadlines.set(ms, alarms)
    }
    return alarms
  }

  /** Notes that a waiting call got its turn: how long that takes is said to calls that are refused. */
  turned(): void {
    const now = this.clock.now()
    const pause = this.#turnAt === 0 ? 0 : now - this.#turnAt
    this.#turnEveryMs += (pause - this.#turnEveryMs) * NEWEST
    this.#turnAt = now
  }

  /** The error of a call that got no turn. */
  busy(why: string): GatewayError {
    this.refused++
    const expected = Math.round(this.#turnEveryMs * (this.turns.waiting + 1))
    const retryAfterMs = Math.min(Math.max(expected, SHORTEST_WAIT_MS), LONGEST_WAIT_MS)
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs })
  }

  /** The error of a call that a rest keeps back. */
  resting(): GatewayError {
    const { why = '', detail, retryAfterMs = 0 } = this.breaker ?? {}
    return resilienceError('GW_UPSTREAM_RESTING', { upstream: this.#upstream, why, detail, retryAfterMs })
  }

  /** The members that `status` shows. */
  status(): JsonObject {
    const { turns, breaker, retries, refused } = this
    const { concurrency, queue } = this.#settings.turns
    return {
      queue: { running: turns.running, waiting: turns.waiting, concurrency, size: queue, refused },
      ...(breaker === undefined ? {} : { breaker: breaker.status() }),
      ...(retries === undefined ? {} : { retries: retries.made }),
    }
  }
}

/** One call with its deadline and the two ends of its promise. */
interface PassageInit {
  readonly call: Call
  readonly next: Dispatch
  readonly bulkhead: Bulkhead
  /** Milliseconds for it all; 0 means no limit. */
  readonly ms: number
  /** True for a tool that is known to take long, so that it is never slow. */
  readonly isPatient: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** `waiting` for a turn, `away` at the upstream, `pausing` before another try. */
type Phase = 'new' | 'waiting' | 'away' | 'pausing' | 'over'

/** One call on its way through a bulkhead. It ends exactly once. */
class Passage implements Waiter {
  readonly #init: PassageInit
  #phase: Phase = 'new'
  #deadline: Alarm<Passage> | undefined = undefined
  #slow: Alarm<Passage> | undefined = undefined
  #patience: Alarm<Passage> | undefined = undefined
  /** Stops listening for a cancellation while it waits or pauses. */
  #unlisten: (() => void) | undefined = undefined
  #endPause: (() => void) | undefined = undefined
  #ticket = 0
  #attempt = 0
  #wasSlow = false

  constructor(init: PassageInit) {
    this.#init = init
  }

  get caller(): string {
    return this.#init.bulkhead.callerOf(this.#init.call)
  }

  /** Starts it. The time counts from the arrival of the request, but for one whose client was asked something first. */
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
        : resilienceError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms })
    this.#end(error, why)
  }

  /** Called when the call has run for as long as makes it slow. */
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
    const detail = error instanceof GatewayError ? error.detail : undefined
    if (failure.isIll && !call.exchange.cancelled)
      bulkhead.breaker?.failed(this.#ticket, reasonOf(error), detail)
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
    // Last, so that the upstream gets the cancellation before the next call.
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
    this.#endPause?.()
    this.#unlisten?.()
    this.#patience = undefined
    this.#endPause = undefined
    this.#unlisten = undefined
  }
}
