import type { Answer, AskWatcher, Call, Clock, Dispatch } from '../../src/plugin.ts'
import { callerKey, gatewayError, GatewayError, getErrorMessage } from '../../src/plugin.ts'
import type { QueuedTimer, TimerQueue } from './timer-queue.ts'
import type { ClientRequestCounter, CallTimeout } from './settings.ts'
import { resilienceError } from './settings.ts'
import type { Breaker } from './breaker.ts'
import type { FailureKind, Retries } from './retries.ts'
import { classifyFailure } from './retries.ts'
import type { PermitQueue, QueuedCall } from './permit-queue.ts'

/** Bulkhead state that its calls share. */
export interface GuardedCallDeps {
  readonly permits: PermitQueue
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slowTimers: TimerQueue<GuardedCall>
  readonly queueTimers: TimerQueue<GuardedCall>
  /** Milliseconds after which a call is slow, and maximum time in the queue; 0 means none. */
  readonly latency: number
  readonly queueTimeout: number
  readonly clientRequests: ClientRequestCounter
  /** Returns the timer queue for deadlines of this length. */
  deadlineTimers(ms: number): TimerQueue<GuardedCall>
  /** Time when a queued call last got a permit. */
  readonly permitGrantedAt: number
  /** Records a granted permit, for the retry estimate in refusals. */
  recordPermit(): void
  /** Creates the error for a call without a permit. */
  busyError(why: string): GatewayError
  /** Creates the error for a call refused by an open circuit. */
  openCircuitError(): GatewayError
}

interface GuardedCallInit {
  readonly call: Call
  readonly next: Dispatch
  readonly bulkhead: GuardedCallDeps
  readonly timeout: CallTimeout
  /** True for a tool with its own timeout: it never counts as slow. */
  readonly isExpectedSlow: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * `waiting` for a permit, `away` at the upstream, `asking` the client, `returning` with the client's reply but
 * without a permit, `pausing` before a retry.
 */
type CallPhase = 'new' | 'waiting' | 'away' | 'asking' | 'returning' | 'pausing' | 'over'

/** After this time without a granted permit, a reply continues without one: the running calls may depend on it. */
const STALL_MS = 1000

const TOO_MANY_CLIENT_REQUESTS = 'the caller has too many pending client requests'
const NO_PERMIT_AFTER_REPLY = 'no concurrency permit available after the client request'

const AT_UPSTREAM: ReadonlySet<CallPhase> = new Set<CallPhase>(['away', 'asking', 'returning'])

/**
 * One call through a bulkhead; settles exactly once. During a client request its deadline pauses and its permit is
 * released. The reply continues with a new permit, or without one if no call makes progress.
 */
export class GuardedCall implements QueuedCall, AskWatcher {
  readonly #init: GuardedCallInit
  #phase: CallPhase = 'new'
  #deadline: QueuedTimer<GuardedCall> | undefined = undefined
  #slowTimer: QueuedTimer<GuardedCall> | undefined = undefined
  #queueTimer: QueuedTimer<GuardedCall> | undefined = undefined
  /** Removes the cancellation listener. */
  #stopCancelListener: (() => void) | undefined = undefined
  #endPause: (() => void) | undefined = undefined
  /** Delivers the client's reply; false drops it. */
  #resolveReply: ((isUnderWay: boolean) => void) | undefined = undefined
  /** Idle deadline, and total deadline, in clock time. */
  #dueAt = Infinity
  #latestAt = Infinity
  #pausedAt = 0
  #ticket = 0
  #attempt = 0
  #wasSlow = false
  /** True while the call runs without a permit. */
  #isWithoutPermit = false

  constructor(init: GuardedCallInit) {
    this.#init = init
  }

  get caller(): string {
    return callerKey(this.#init.call.exchange.session)
  }

  /** Starts the call. Time counts from the request's arrival, or from now after a client request. */
  begin(): void {
    const { timeout, bulkhead, call } = this.#init
    if (timeout.idle > 0) {
      const now = bulkhead.clock.now()
      const from = call.exchange.hasReachedClient ? now : call.exchange.startedAt
      this.#dueAt = from + timeout.idle
      this.#latestAt = from + timeout.total
      if (this.#dueAt <= now) return this.onDeadline()
      this.#armDeadline()
    }
    call.exchange.watchAsks(this)
    this.#enterQueue()
  }

  onPermit(): void {
    this.#init.bulkhead.recordPermit()
    this.#clearWaitState()
    if (this.#phase === 'returning') this.#resume()
    else this.#callUpstream()
  }

  onAskStart(): void {
    const { bulkhead } = this.#init
    if (this.#phase !== 'away' && this.#phase !== 'returning') return
    if (!bulkhead.clientRequests.increment(this.caller))
      return this.#abandon(bulkhead.busyError(TOO_MANY_CLIENT_REQUESTS), TOO_MANY_CLIENT_REQUESTS)
    const isReturning = this.#phase === 'returning'
    const hadTurn = !isReturning && !this.#isWithoutPermit
    this.#phase = 'asking'
    this.#isWithoutPermit = false
    this.#pauseTimers()
    if (hadTurn && !bulkhead.permits.isSingle) bulkhead.permits.release(this)
    if (!isReturning) return
    // Deliver the previous reply now.
    this.#clearWaitState()
    bulkhead.permits.dequeue(this)
    this.#settleReply(true)
  }

  onAskEnd(): Promise<boolean> | undefined {
    const { permits, clock, clientRequests, queueTimers } = this.#init.bulkhead
    if (this.#phase !== 'asking') return undefined
    clientRequests.decrement(this.caller)
    const askedMs = clock.now() - this.#pausedAt
    this.#dueAt += askedMs
    this.#latestAt += askedMs
    this.#armDeadline()
    if (permits.isSingle || permits.tryAcquire(this)) {
      this.#resume()
      return undefined
    }
    this.#phase = 'returning'
    permits.requeue(this)
    this.#queueTimer = queueTimers.schedule(this, clock.now() + STALL_MS)
    return new Promise(resolve => (this.#resolveReply = resolve))
  }

  /** Restarts the idle timeout on progress. */
  onProgress(): void {
    const { timeout, bulkhead } = this.#init
    const at = Math.min(bulkhead.clock.now() + timeout.idle, this.#latestAt)
    if (this.#phase === 'away') this.#dueAt = Math.max(this.#dueAt, at)
  }

  onEvicted(): void {
    const { bulkhead } = this.#init
    const reason = 'a caller with fewer queued calls took the queue position'
    const error = bulkhead.breaker?.isOpen === true ? bulkhead.openCircuitError() : bulkhead.busyError(reason)
    if (this.#phase === 'returning') this.#abandon(error, NO_PERMIT_AFTER_REPLY)
    else this.#fail(error)
  }

  onQueueTimeout(): void {
    const { bulkhead } = this.#init
    if (this.#phase === 'returning') this.#continueWithoutPermit()
    else this.#fail(bulkhead.busyError(`not started within ${bulkhead.queueTimeout} ms`))
  }

  /** Continues without a permit if the queue is stalled; one reply at a time, to bound concurrency. */
  #continueWithoutPermit(): void {
    const { permits, clock, queueTimers, permitGrantedAt } = this.#init.bulkhead
    const at = permitGrantedAt + STALL_MS
    if (clock.now() < at) {
      this.#queueTimer = queueTimers.schedule(this, at)
      return
    }
    this.#init.bulkhead.recordPermit()
    permits.dequeue(this)
    this.#isWithoutPermit = true
    this.#resume()
  }

  /** Fails the call, unless progress extended its deadline. */
  onDeadline(): void {
    const { timeout, bulkhead, call } = this.#init
    if (this.#dueAt > bulkhead.clock.now()) return this.#armDeadline()
    const ms = this.#dueAt === this.#latestAt ? timeout.total : timeout.idle
    const noTurn = `not started within ${ms} ms`
    if (this.#phase === 'waiting') return this.#fail(bulkhead.busyError(noTurn))
    if (this.#phase === 'returning') return this.#abandon(bulkhead.busyError(noTurn), NO_PERMIT_AFTER_REPLY)
    const reason = `no answer within ${ms} ms`
    const tool = call.method === 'tools/call' ? call.params?.name : undefined
    if (this.#phase === 'away') bulkhead.breaker?.recordTimeout(this.#ticket, tool, reason)
    this.#fail(resilienceError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms }), reason)
  }

  /** Called when the call exceeds the latency limit. */
  onSlow(): void {
    const { bulkhead } = this.#init
    this.#wasSlow = true
    bulkhead.breaker?.recordSlow(this.#ticket)
  }

  #enterQueue(): void {
    const { bulkhead, call } = this.#init
    const { permits, breaker } = bulkhead
    if (breaker?.isOpen === true) return this.#fail(bulkhead.openCircuitError())
    if (permits.tryAcquire(this)) return this.#callUpstream()
    if (!permits.enqueue(this)) return this.#fail(bulkhead.busyError('the queue is full'))
    this.#phase = 'waiting'
    if (bulkhead.queueTimeout > 0)
      this.#queueTimer = bulkhead.queueTimers.schedule(this, bulkhead.clock.now() + bulkhead.queueTimeout)
    this.#stopCancelListener = call.onCancel(this.#onCancel)
  }

  #callUpstream(): void {
    const { bulkhead, call, next } = this.#init
    const { breaker, retries } = bulkhead
    this.#phase = 'away'
    if (breaker !== undefined) {
      this.#ticket = breaker.acquire()
      if (this.#ticket === 0) return this.#fail(bulkhead.openCircuitError())
    }
    if (++this.#attempt === 1) retries?.recordCall()
    if (bulkhead.latency > 0) this.#armSlowTimer()
    try {
      next(call).then(
        answer => this.#onAnswer(answer),
        (error: unknown) => this.#onFailure(error),
      )
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Continues at the upstream after the client's reply. */
  #resume(): void {
    this.#phase = 'away'
    if (this.#init.bulkhead.latency > 0 && !this.#wasSlow) this.#armSlowTimer()
    this.#settleReply(true)
  }

  #settleReply(isUnderWay: boolean): void {
    this.#resolveReply?.(isUnderWay)
    this.#resolveReply = undefined
  }

  #armDeadline(): void {
    const { timeout, bulkhead } = this.#init
    if (timeout.idle > 0) this.#deadline = bulkhead.deadlineTimers(timeout.idle).schedule(this, this.#dueAt)
  }

  /** Stops all timers during a client request. */
  #pauseTimers(): void {
    const { timeout, bulkhead } = this.#init
    this.#pausedAt = bulkhead.clock.now()
    if (this.#deadline !== undefined) {
      bulkhead.deadlineTimers(timeout.idle).cancel(this.#deadline)
      this.#deadline = undefined
    }
    if (this.#slowTimer !== undefined) bulkhead.slowTimers.cancel(this.#slowTimer)
    this.#slowTimer = undefined
  }

  #armSlowTimer(): void {
    const { bulkhead, isExpectedSlow } = this.#init
    if (!isExpectedSlow) this.#slowTimer = bulkhead.slowTimers.schedule(this, bulkhead.clock.now() + bulkhead.latency)
  }

  #onAnswer(answer: Answer): void {
    if (!AT_UPSTREAM.has(this.#phase)) return
    const { bulkhead, call, resolve } = this.#init
    if (call.exchange.cancelled) bulkhead.breaker?.release(this.#ticket)
    else bulkhead.breaker?.recordAnswer(this.#ticket, this.#wasSlow)
    const hadTurn = this.#release()
    resolve(answer)
    if (hadTurn) bulkhead.permits.release(this)
  }

  #onFailure(error: unknown): void {
    if (!AT_UPSTREAM.has(this.#phase)) return
    const { bulkhead, call } = this.#init
    const failure = classifyFailure(error)
    const detail = error instanceof GatewayError ? error.detail : undefined
    if (failure.isUpstreamFault && !call.exchange.cancelled)
      bulkhead.breaker?.recordFailure(this.#ticket, getErrorMessage(error), detail)
    else bulkhead.breaker?.release(this.#ticket)
    const pauseMs = this.#retryDelayMs(failure)
    if (pauseMs === undefined) this.#fail(error)
    else this.#waitForRetry(pauseMs)
  }

  #retryDelayMs(failure: FailureKind): number | undefined {
    const { bulkhead, call } = this.#init
    const { breaker, retries, clock } = bulkhead
    if (retries === undefined || breaker?.isOpen === true || this.#phase !== 'away') return undefined
    return retries.nextRetryDelayMs(call, failure, this.#attempt, this.#dueAt - clock.now())
  }

  /** Releases the permit until the next attempt. */
  #waitForRetry(ms: number): void {
    const { bulkhead, call } = this.#init
    this.#phase = 'pausing'
    this.#clearSlowTimer()
    if (!this.#isWithoutPermit) bulkhead.permits.release(this)
    this.#isWithoutPermit = false
    this.#endPause = bulkhead.clock.after(ms, () => {
      this.#clearWaitState()
      this.#enterQueue()
    })
    this.#stopCancelListener = call.onCancel(this.#onCancel)
  }

  /** The client cancelled before anything was sent. */
  readonly #onCancel = (): void => {
    if (this.#phase === 'waiting' || this.#phase === 'pausing') this.#fail(gatewayError('GW_CANCELLED'))
  }

  /** Ends a running call without blaming the upstream. */
  #abandon(error: GatewayError, reason: string): void {
    this.#init.bulkhead.breaker?.release(this.#ticket)
    this.#fail(error, reason)
  }

  #fail(error: unknown, cancelBecause?: string): void {
    const { bulkhead, call, reject } = this.#init
    const hadTurn = this.#release()
    // Reject first, so that the upstream's reaction to the cancellation is ignored.
    reject(error)
    if (cancelBecause !== undefined) call.cancel(cancelBecause)
    // Release last, so that the upstream receives the cancellation before the next call.
    if (hadTurn) bulkhead.permits.release(this)
  }

  /** Cleans up; returns true if a permit must be released. */
  #release(): boolean {
    const { bulkhead, call, timeout } = this.#init
    const phase = this.#phase
    this.#phase = 'over'
    if (this.#deadline !== undefined) bulkhead.deadlineTimers(timeout.idle).cancel(this.#deadline)
    this.#clearSlowTimer()
    this.#clearWaitState()
    call.exchange.unwatchAsks(this)
    if (phase === 'asking') bulkhead.clientRequests.decrement(this.caller)
    if (phase === 'waiting' || phase === 'returning') bulkhead.permits.dequeue(this)
    this.#settleReply(false)
    return (phase === 'away' && !this.#isWithoutPermit) || (phase === 'asking' && bulkhead.permits.isSingle)
  }

  #clearSlowTimer(): void {
    if (this.#slowTimer !== undefined) this.#init.bulkhead.slowTimers.cancel(this.#slowTimer)
    this.#slowTimer = undefined
    this.#wasSlow = false
  }

  #clearWaitState(): void {
    if (this.#queueTimer !== undefined) this.#init.bulkhead.queueTimers.cancel(this.#queueTimer)
    this.#endPause?.()
    this.#stopCancelListener?.()
    this.#queueTimer = undefined
    this.#endPause = undefined
    this.#stopCancelListener = undefined
  }
}
