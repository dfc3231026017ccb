import type { Clock, JsonObject, Log } from '../../src/plugin.ts'
import { describeReason } from '../../src/plugin.ts'

const WINDOW_BUCKETS = 10

/** When the circuit opens, and for how long. */
export interface BreakerLimits extends SlowLimits {
  /** Consecutive failures. */
  readonly failures: number
  /** Milliseconds after which a call is slow; 0 disables the check. */
  readonly latency: number
  /** Milliseconds that the circuit stays open the first time. */
  readonly open: number
}

interface BreakerDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds until another probe is allowed if the last one has not ended. */
  readonly probeMs: number
  /** Returns a number from 0 to below 1. */
  random(): number
  onOpen(): void
}

type BreakerState = 'closed' | 'open' | 'probing'

const MAX_OPEN_MS = 300_000

const JITTER = 0.2

/** `retryAfterMs` for calls refused during a probe. */
const PROBE_RETRY_MS = 1000

/**
 * Circuit breaker: opens after consecutive failures, or if too many calls are slow. Half-open, it lets one probe
 * through: success closes the circuit, failure opens it for longer.
 */
export class Breaker {
  state: BreakerState = 'closed'
  /** Why the circuit opened last, to complete a sentence. */
  why = ''
  /** Server output about the failure, for the operator only. */
  detail: string | undefined = undefined
  /** True after a stop by an operator: failures are not counted. */
  isStopped = false
  /** Times that the circuit opened since the gateway started. */
  opened = 0
  readonly #limits: BreakerLimits
  readonly #host: BreakerDeps
  readonly #slow: SlowCallWindow
  /** Changes with each state change, so that results from earlier calls are ignored. */
  #generation = 1
  #failures = 0
  /** Tool in the last timeout, until the next answer. */
  #lastTimedOutTool: unknown = undefined
  #consecutiveOpens = 0
  #closedAt = -Infinity
  #lastOpenMs = 0
  #probeAt = 0

  constructor(limits: BreakerLimits, host: BreakerDeps) {
    this.#limits = limits
    this.#host = host
    this.#slow = new SlowCallWindow(limits)
  }

  /** True while calls are refused. */
  get isOpen(): boolean {
    return this.state !== 'closed' && this.#probeAt > this.#host.clock.now()
  }

  /** Milliseconds until a call may be tried again; 0 for now. */
  get retryAfterMs(): number {
    if (this.state === 'closed') return 0
    if (this.state === 'probing') return PROBE_RETRY_MS
    return Math.max(0, Math.ceil(this.#probeAt - this.#host.clock.now()))
  }

  /**
   * Returns a ticket for reporting the outcome, or 0 if the call is refused. The first call after the pause is the
   * probe.
   */
  acquire(): number {
    if (this.state === 'closed') return this.#generation
    if (this.isOpen) return 0
    this.state = 'probing'
    this.#probeAt = this.#host.clock.now() + this.#host.probeMs
    this.#host.log.info('circuit half-open, probing', this.#fields())
    return ++this.#generation
  }

  /** Records an answer of any kind. `recordSlow` reports slowness earlier. */
  recordAnswer(ticket: number, wasSlow: boolean): void {
    if (ticket !== this.#generation) return
    this.#failures = 0
    this.#lastTimedOutTool = undefined
    if (this.state === 'probing') this.#closeCircuit('probe answered')
    else if (this.#limits.latency > 0 && !wasSlow) this.#slow.recordCall(this.#host.clock.now(), false)
  }

  /** Records a failure: connection refused, closed or timed out. */
  recordFailure(ticket: number, reason: string, detail?: string): void {
    if (this.isStopped) return this.release(ticket)
    if (ticket !== this.#generation) return
    this.#failures++
    if (this.state === 'probing') this.#openCircuit(`probe failed: ${reason}`, detail)
    else if (this.#failures >= this.#limits.failures)
      this.#openCircuit(`${this.#failures} consecutive failures: ${reason}`, detail)
  }

  /**
   * Records a timeout. Consecutive timeouts of one tool count once, because one slow tool does not mean that others
   * fail.
   */
  recordTimeout(ticket: number, tool: unknown, reason: string): void {
    const isRepeated = tool !== undefined && tool === this.#lastTimedOutTool && this.state === 'closed'
    if (isRepeated) return
    if (ticket === this.#generation) this.#lastTimedOutTool = tool
    this.recordFailure(ticket, reason)
  }

  /** Records a call that exceeded the latency limit. */
  recordSlow(ticket: number): void {
    if (ticket !== this.#generation) return
    if (this.state === 'probing') return this.#openCircuit(`probe took over ${this.#limits.latency} ms`)
    if (this.#slow.recordCall(this.#host.clock.now(), true))
      this.#openCircuit(`too many calls over ${this.#limits.latency} ms`)
  }

  /** Reports a neutral outcome; allows another probe if this was one. */
  release(ticket: number): void {
    if (ticket === this.#generation && this.state === 'probing') {
      this.state = 'open'
      this.#probeAt = 0
    }
  }

  /** Closes the circuit after the upstream restarted. */
  reset(): void {
    if (this.state !== 'closed') this.#closeCircuit('upstream restarted')
    this.#failures = 0
    this.#lastTimedOutTool = undefined
    this.#slow.clear()
  }

  describeStatus(): JsonObject {
    const { state, opened, retryAfterMs } = this
    const openFields = state === 'closed' ? {} : { why: describeReason(this), retryAfterMs }
    return { state, failures: this.#failures, opened, ...openFields }
  }

  #openCircuit(why: string, detail?: string): void {
    const { clock, log, random } = this.#host
    const now = clock.now()
    // Stay open for longer if the circuit opens again soon after it closed.
    const isAgain = this.state === 'probing' || now - this.#closedAt <= this.#lastOpenMs
    this.#consecutiveOpens = isAgain ? this.#consecutiveOpens + 1 : 1
    const restMs = Math.min(
      this.#limits.open * this.#consecutiveOpens * (1 - JITTER + 2 * JITTER * random()),
      MAX_OPEN_MS,
    )
    this.#lastOpenMs = restMs
    this.#probeAt = now + restMs
    this.state = 'open'
    this.why = why
    this.detail = detail
    this.opened++
    this.#failures = 0
    this.#lastTimedOutTool = undefined
    this.#generation++
    this.#slow.clear()
    log.warn('circuit opened', {
      ...this.#fields(),
      why: describeReason(this),
      ms: Math.round(restMs),
    })
    this.#host.onOpen()
  }

  #closeCircuit(why: string): void {
    this.state = 'closed'
    this.#closedAt = this.#host.clock.now()
    this.#slow.clear()
    this.#generation++
    this.#host.log.info('circuit closed', { ...this.#fields(), why })
  }

  #fields(): Record<string, unknown> {
    return { upstream: this.#host.upstream }
  }
}

/** When the share of slow calls is too large. */
interface SlowLimits {
  /** Share of all calls, above 0 up to 1. */
  readonly share: number
  /** Window in milliseconds. */
  readonly window: number
  /** Minimum calls in the window. */
  readonly calls: number
}

interface WindowBucket {
  number: number
  calls: number
  slow: number
}

/** Counts slow calls in a sliding window. */
class SlowCallWindow {
  readonly #limits: SlowLimits
  readonly #bucketMs: number
  #buckets: WindowBucket[] = []

  constructor(limits: SlowLimits) {
    this.#limits = limits
    this.#bucketMs = Math.max(1, limits.window / WINDOW_BUCKETS)
  }

  /** Records a call; returns true if too many are slow. */
  recordCall(now: number, isSlow: boolean): boolean {
    const number = Math.floor(now / this.#bucketMs)
    const last = this.#buckets.at(-1)
    const part = last?.number === number ? last : this.#addBucket(number)
    part.calls++
    if (!isSlow) return false
    part.slow++
    return this.#isOverShare(number)
  }

  clear(): void {
    this.#buckets = []
  }

  #addBucket(number: number): WindowBucket {
    const part = { number, calls: 0, slow: 0 }
    this.#buckets.push(part)
    if (this.#buckets.length > WINDOW_BUCKETS) this.#buckets.shift()
    return part
  }

  #isOverShare(number: number): boolean {
    let calls = 0
    let slow = 0
    for (const part of this.#buckets) {
      if (part.number <= number - WINDOW_BUCKETS) continue
      calls += part.calls
      slow += part.slow
    }
    return calls >= this.#limits.calls && slow / calls >= this.#limits.share
  }
}
