import type { Clock, JsonObject, Log } from '../../src/plugin.ts'

/** When the circuit opens, and for how long. */
export interface BreakerLimits {
  /** Consecutive failures. */
  readonly failures: number
  /** Milliseconds that the circuit stays open. */
  readonly open: number
}

interface BreakerDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds until another probe is allowed if the last one has not ended. */
  readonly probeMs: number
  /** Returns a number from 0 to below 1. */
  readonly random: () => number
  readonly onOpen: () => void
}

type BreakerState = 'closed' | 'open' | 'probing'

const JITTER = 0.2

/** `retryAfterMs` for calls refused during a probe. */
const PROBE_RETRY_MS = 1000

/**
 * Circuit breaker: opens after consecutive failures. Half-open, it lets one probe through: success closes the
 * circuit, failure opens it again.
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
  readonly #deps: BreakerDeps
  /** Changes with each state change, so that results from earlier calls are ignored. */
  #generation = 1
  #failures = 0
  /** Tool in the last timeout, until the next answer. */
  #lastTimedOutTool: unknown = undefined
  #probeAt = 0

  constructor(limits: BreakerLimits, deps: BreakerDeps) {
    this.#limits = limits
    this.#deps = deps
  }

  /** True while calls are refused. */
  get isOpen(): boolean {
    return this.state !== 'closed' && this.#probeAt > this.#deps.clock.now()
  }

  /** Milliseconds until a call may be tried again; 0 for now. */
  get retryAfterMs(): number {
    if (this.state === 'closed') return 0
    if (this.state === 'probing') return PROBE_RETRY_MS
    return Math.max(0, Math.ceil(this.#probeAt - this.#deps.clock.now()))
  }

  /**
   * Returns a ticket for reporting the outcome, or 0 if the call is refused. The first call after the pause is the
   * probe.
   */
  acquire(): number {
    if (this.state === 'closed') return this.#generation
    if (this.isOpen) return 0
    this.state = 'probing'
    this.#probeAt = this.#deps.clock.now() + this.#deps.probeMs
    this.#log('info', 'circuit half-open, probing')
    return ++this.#generation
  }

  /** Records any answer. */
  recordAnswer(ticket: number): void {
    if (ticket !== this.#generation) return
    this.#failures = 0
    this.#lastTimedOutTool = undefined
    if (this.state === 'probing') this.#closeCircuit('probe answered')
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
  }

  get #ownerReason(): string {
    return this.detail === undefined ? this.why : `${this.why}; last message: ${this.detail}`
  }

  describeStatus(): JsonObject {
    const { state, opened, retryAfterMs } = this
    const openFields = state === 'closed' ? {} : { why: this.#ownerReason, retryAfterMs }
    return { state, failures: this.#failures, opened, ...openFields }
  }

  #openCircuit(why: string, detail?: string): void {
    const { clock, random, onOpen } = this.#deps
    const openMs = this.#limits.open * (1 - JITTER + 2 * JITTER * random())
    this.#probeAt = clock.now() + openMs
    this.state = 'open'
    this.why = why
    this.detail = detail
    this.opened++
    this.#failures = 0
    this.#lastTimedOutTool = undefined
    this.#generation++
    this.#log('warn', 'circuit opened', { why: this.#ownerReason, ms: Math.round(openMs) })
    onOpen()
  }

  #closeCircuit(why: string): void {
    this.state = 'closed'
    this.#generation++
    this.#log('info', 'circuit closed', { why })
  }

  #log(level: 'info' | 'warn', message: string, fields: Record<string, unknown> = {}): void {
    this.#deps.log[level](message, { upstream: this.#deps.upstream, ...fields })
  }
}
