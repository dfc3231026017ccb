import type { Answer, AskWatcher, Call, Clock, Dispatch, JsonObject, Log } from '../../src/plugin.ts'
import { callerKey, gatewayError, GatewayError, getErrorMessage } from '../../src/plugin.ts'
import { Breaker } from './breaker.ts'
import type { QueuedCall } from './permit-queue.ts'
import { PermitQueue } from './permit-queue.ts'
import type { FailureKind, BulkheadSettings, CallTimeout } from './retries.ts'
import { classifyFailure, Retries, findToolTimeout, resilienceError } from './retries.ts'

interface BulkheadDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
}

/** A probe without a deadline allows another one after this time. */
const PROBE_MS = 60_000

/** `retryAfterMs` for calls refused by the queue. */
const BUSY_RETRY_MS = 1000

/** Isolates one upstream: deadlines, concurrency limit, circuit breaker and retries for all its calls. */
export class Bulkhead {
  readonly settings: BulkheadSettings
  readonly permits: PermitQueue
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  /** Calls that wait for their client; they hold no permit. */
  asking = 0
  readonly #upstream: string
  /** Calls refused by the queue. */
  #refused = 0

  constructor(settings: BulkheadSettings, { upstream, clock, log }: BulkheadDeps) {
    const { random } = Math
    this.settings = settings
    this.#upstream = upstream
    this.clock = clock
    this.permits = new PermitQueue(settings.permits)
    this.retries = settings.retry === undefined ? undefined : new Retries(settings.retry, random)
    const probeMs = Math.max(settings.timeout.idle, PROBE_MS)
    const onOpen = (): void => this.permits.clear(waiter => waiter.onEvicted())
    this.breaker =
      settings.breaker === undefined
        ? undefined
        : new Breaker(settings.breaker, { upstream, clock, log, random, probeMs, onOpen })
  }

  /** Dispatches a call. Rejects with a GatewayError if it was refused, failed or timed out. */
  dispatchGuarded(call: Call, next: Dispatch): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timeout = findToolTimeout(this.settings, call) ?? this.settings.timeout
      new GuardedCall({ call, next, bulkhead: this, timeout, resolve, reject }).begin()
    })
  }

  /** Creates the error for a call without a permit. */
  busyError(why: string): GatewayError {
    this.#refused++
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs: BUSY_RETRY_MS })
  }

  /** Creates the error for a call refused by an open circuit. */
  openCircuitError(): GatewayError {
    const { why = '', detail, retryAfterMs = 0 } = this.breaker ?? {}
    return resilienceError('GW_UPSTREAM_RESTING', { upstream: this.#upstream, why, detail, retryAfterMs })
  }

  describeStatus(): JsonObject {
    const { permits, breaker, retries, asking } = this
    const { concurrency, queue } = this.settings.permits
    return {
      queue: {
        running: permits.running,
        waiting: permits.waiting,
        asking,
        concurrency,
        size: queue,
        refused: this.#refused,
      },
      ...(breaker === undefined ? {} : { breaker: breaker.describeStatus() }),
      ...(retries === undefined ? {} : { retries: retries.made }),
    }
  }
}

interface GuardedCallInit {
  readonly call: Call
  readonly next: Dispatch
  readonly bulkhead: Bulkhead
  readonly timeout: CallTimeout
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** `waiting` for a permit, `away` at the upstream, `asking` the client, `pausing` before a retry. */
type CallPhase = 'new' | 'waiting' | 'away' | 'asking' | 'pausing' | 'over'

/**
 * One call through a bulkhead; settles exactly once. During a client request its deadline pauses and its permit is
 * released; the reply continues immediately, even above the concurrency limit.
 */
class GuardedCall implements QueuedCall, AskWatcher {
  readonly #init: GuardedCallInit
  #phase: CallPhase = 'new'
  #stopDeadline: (() => void) | undefined = undefined
  /** Stops the queue's or a pause's timer. */
  #stopWaitTimer: (() => void) | undefined = undefined
  /** Removes the cancellation listener. */
  #stopCancelListener: (() => void) | undefined = undefined
  /** Idle deadline, and total deadline, in clock time. */
  #dueAt = Infinity
  #latestAt = Infinity
  #pausedAt = 0
  #ticket = 0
  #attempt = 0

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
      if (this.#dueAt <= now) return this.#onDeadline()
      this.#startDeadline()
    }
    call.exchange.watchAsks(this)
    this.#enterQueue()
  }

  onPermit(): void {
    this.#clearWaitState()
    this.#callUpstream()
  }

  onAskStart(): void {
    const { bulkhead } = this.#init
    const { permits } = bulkhead
    if (this.#phase !== 'away') return
    bulkhead.asking++
    this.#phase = 'asking'
    this.#pausedAt = bulkhead.clock.now()
    this.#stopDeadline?.()
    if (!permits.isSingle) permits.release(this)
  }

  onAskEnd(): void {
    const { bulkhead } = this.#init
    const { permits, clock } = bulkhead
    if (this.#phase !== 'asking') return
    this.#phase = 'away'
    bulkhead.asking--
    const askedMs = clock.now() - this.#pausedAt
    this.#dueAt += askedMs
    this.#latestAt += askedMs
    this.#startDeadline()
    if (!permits.isSingle) permits.acquire(this)
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
    this.#fail(bulkhead.breaker?.isOpen === true ? bulkhead.openCircuitError() : bulkhead.busyError(reason))
  }

  /** Fails the call, unless progress extended its deadline. */
  #onDeadline(): void {
    const { timeout, bulkhead, call } = this.#init
    if (this.#dueAt > bulkhead.clock.now()) return this.#startDeadline()
    const ms = this.#dueAt === this.#latestAt ? timeout.total : timeout.idle
    if (this.#phase === 'waiting') return this.#fail(bulkhead.busyError(`not started within ${ms} ms`))
    const reason = `no answer within ${ms} ms`
    const tool = call.method === 'tools/call' ? call.params?.name : undefined
    if (this.#phase === 'away') bulkhead.breaker?.recordTimeout(this.#ticket, tool, reason)
    this.#fail(resilienceError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms }), reason)
  }

  #startDeadline(): void {
    const { clock } = this.#init.bulkhead
    if (this.#dueAt === Infinity) return
    this.#stopDeadline = clock.after(Math.max(0, Math.ceil(this.#dueAt - clock.now())), () => this.#onDeadline())
  }

  #enterQueue(): void {
    const { bulkhead, call } = this.#init
    const { permits, breaker, clock, settings } = bulkhead
    const { queueTimeout: ms } = settings.permits
    if (breaker?.isOpen === true) return this.#fail(bulkhead.openCircuitError())
    if (permits.tryAcquire(this)) return this.#callUpstream()
    if (!permits.enqueue(this)) return this.#fail(bulkhead.busyError('the queue is full'))
    this.#phase = 'waiting'
    if (ms > 0)
      this.#stopWaitTimer = clock.after(ms, () => this.#fail(bulkhead.busyError(`not started within ${ms} ms`)))
    this.#stopCancelListener = call.onCancel(this.#onCancel)
  }

  #callUpstream(): void {
    const { bulkhead, call, next } = this.#init
    const { breaker } = bulkhead
    this.#phase = 'away'
    if (breaker !== undefined) {
      this.#ticket = breaker.acquire()
      if (this.#ticket === 0) return this.#fail(bulkhead.openCircuitError())
    }
    this.#attempt++
    try {
      next(call).then(
        answer => this.#onAnswer(answer),
        (error: unknown) => this.#onFailure(error),
      )
    } catch (error) {
      this.#onFailure(error)
    }
  }

  get #isAtUpstream(): boolean {
    return this.#phase === 'away' || this.#phase === 'asking'
  }

  #onAnswer(answer: Answer): void {
    if (!this.#isAtUpstream) return
    const { bulkhead, call, resolve } = this.#init
    if (call.exchange.cancelled) bulkhead.breaker?.release(this.#ticket)
    else bulkhead.breaker?.recordAnswer(this.#ticket)
    const hadPermit = this.#end()
    resolve(answer)
    if (hadPermit) bulkhead.permits.release(this)
  }

  #onFailure(error: unknown): void {
    if (!this.#isAtUpstream) return
    const { bulkhead, call } = this.#init
    const failure = classifyFailure(error)
    const detail = error instanceof GatewayError ? error.detail : undefined
    if (failure.isUpstreamFault && !call.exchange.cancelled)
      bulkhead.breaker?.recordFailure(this.#ticket, getErrorMessage(error), detail)
    else bulkhead.breaker?.release(this.#ticket)
    const pauseMs = this.#getRetryDelayMs(failure)
    if (pauseMs === undefined) this.#fail(error)
    else this.#waitForRetry(pauseMs)
  }

  #getRetryDelayMs(failure: FailureKind): number | undefined {
    const { bulkhead, call } = this.#init
    const { breaker, retries, clock } = bulkhead
    if (retries === undefined || breaker?.isOpen === true || this.#phase !== 'away') return undefined
    return retries.nextRetryDelayMs(call, failure, this.#attempt, this.#dueAt - clock.now())
  }

  /** Releases the permit until the next attempt. */
  #waitForRetry(ms: number): void {
    const { bulkhead, call } = this.#init
    this.#phase = 'pausing'
    bulkhead.permits.release(this)
    this.#stopWaitTimer = bulkhead.clock.after(ms, () => {
      this.#clearWaitState()
      this.#enterQueue()
    })
    this.#stopCancelListener = call.onCancel(this.#onCancel)
  }

  /** The client cancelled before anything was sent. */
  readonly #onCancel = (): void => {
    if (this.#phase === 'waiting' || this.#phase === 'pausing') this.#fail(gatewayError('GW_CANCELLED'))
  }

  #fail(error: unknown, cancelBecause?: string): void {
    const { bulkhead, call, reject } = this.#init
    const hadPermit = this.#end()
    // Reject first, so that the upstream's reaction to the cancellation is ignored.
    reject(error)
    if (cancelBecause !== undefined) call.cancel(cancelBecause)
    // Release last, so that the upstream receives the cancellation before the next call.
    if (hadPermit) bulkhead.permits.release(this)
  }

  /** Cleans up; returns true if a permit must be released. */
  #end(): boolean {
    const { bulkhead, call } = this.#init
    const phase = this.#phase
    this.#phase = 'over'
    this.#stopDeadline?.()
    this.#clearWaitState()
    call.exchange.unwatchAsks(this)
    if (phase === 'asking') bulkhead.asking--
    if (phase === 'waiting') bulkhead.permits.dequeue(this)
    return phase === 'away' || (phase === 'asking' && bulkhead.permits.isSingle)
  }

  #clearWaitState(): void {
    this.#stopWaitTimer?.()
    this.#stopCancelListener?.()
    this.#stopWaitTimer = undefined
    this.#stopCancelListener = undefined
  }
}
