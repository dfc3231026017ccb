import type { Clock, JsonObject, Log } from '../../src/plugin.ts'
import { describeReason } from '../../src/plugin.ts'

/** Parts of the window: what leaves it leaves by parts. */
const PARTS = 10

/** When a breaker opens, and for how long. */
export interface BreakerLimits extends SlowLimits {
  /** Failures in a row. */
  readonly failures: number
  /** Milliseconds after which a call is slow; 0 means none is. */
  readonly latency: number
  /** Milliseconds of its first rest. */
  readonly open: number
}

/** Dependencies of a breaker. */
interface BreakerHost {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds until another probe is let through although the last one has not ended. */
  readonly probeMs: number
  /** A number from 0 to below 1. */
  random(): number
  /** Tells that the breaker has opened. */
  opened(): void
}

type BreakerState = 'closed' | 'open' | 'probing'

/** The longest rest. */
const MAX_MS = 300_000

const JITTER = 0.2

/** `retryAfterMs` of calls that are refused while a probe is out. */
const PROBE_RETRY_MS = 1000

/**
 * Gives an upstream a rest after too many failures in a row, or when too many of its calls are slow. Then one call is
 * let through as a probe: if that goes well all may follow, otherwise the next rest is longer.
 */
export class Breaker {
  state: BreakerState = 'closed'
  /** Why it opened last, as the end of a sentence. */
  why = ''
  /** The server's words about it, for the owner alone. */
  detail: string | undefined = undefined
  /** Its owner has stopped the upstream: that calls fail says nothing of it. */
  isStopped = false
  /** Number of times that it has opened since the gateway began. */
  opened = 0
  readonly #limits: BreakerLimits
  readonly #host: BreakerHost
  readonly #slow: SlowShare
  /** Calls that began before the last change say nothing about what came after it. */
  #epoch = 1
  #failures = 0
  /** Tool of the last timeout, until something is answered. */
  #lateTool: unknown = undefined
  /** Rests in a row. */
  #rests = 0
  #closedAt = -Infinity
  #lastRestMs = 0
  #dueAt = 0

  constructor(limits: BreakerLimits, host: BreakerHost) {
    this.#limits = limits
    this.#host = host
    this.#slow = new SlowShare(limits)
  }

  /** True while no call may go through. */
  get isShut(): boolean {
    return this.state !== 'closed' && this.#dueAt > this.#host.clock.now()
  }

  /** Milliseconds after which it is worth asking again; 0 when it is now. */
  get retryAfterMs(): number {
    if (this.state === 'closed') return 0
    if (this.state === 'probing') return PROBE_RETRY_MS
    return Math.max(0, Math.ceil(this.#dueAt - this.#host.clock.now()))
  }

  /** Lets a call through; 0 when it must not go, otherwise the ticket to report with. The first after a rest is the probe. */
  enter(): number {
    if (this.state === 'closed') return this.#epoch
    if (this.isShut) return 0
    this.state = 'probing'
    this.#dueAt = this.#host.clock.now() + this.#host.probeMs
    this.#host.log.info('one call goes through to see whether the upstream is well', this.#fields())
    return ++this.#epoch
  }

  /** The upstream has answered, whatever it said. Whether that was slow is reported by `slow`, ahead of it. */
  answered(ticket: number, wasSlow: boolean): void {
    if (ticket !== this.#epoch) return
    this.#failures = 0
    this.#lateTool = undefined
    if (this.state === 'probing') this.#close('the probe was answered')
    else if (this.#limits.latency > 0 && !wasSlow) this.#slow.add(this.#host.clock.now(), false)
  }

  /** Counts a failure: the upstream could not be reached, broke off, or took too long. */
  failed(ticket: number, why: string, detail?: string): void {
    if (this.isStopped) return this.left(ticket)
    if (ticket !== this.#epoch) return
    this.#failures++
    if (this.state === 'probing') this.#open(`the probe failed: ${why}`, detail)
    else if (this.#failures >= this.#limits.failures)
      this.#open(`${this.#failures} failures in a row: ${why}`, detail)
  }

  /** Counts a timeout. Timeouts of one tool in a row count once: a slow tool does not show that the others fail. */
  timedOut(ticket: number, tool: unknown, why: string): void {
    const isRepeated = tool !== undefined && tool === this.#lateTool && this.state === 'closed'
    if (isRepeated) return
    if (ticket === this.#epoch) this.#lateTool = tool
    this.failed(ticket, why)
  }

  /** A call has passed the limit of what is slow. */
  slow(ticket: number): void {
    if (ticket !== this.#epoch) return
    if (this.state === 'probing') return this.#open(`the probe took over ${this.#limits.latency} ms`)
    if (this.#slow.add(this.#host.clock.now(), true))
      this.#open(`too many calls over ${this.#limits.latency} ms`)
  }

  /** A call ended in a way that says nothing of the upstream; a probe that did makes room for another one. */
  left(ticket: number): void {
    if (ticket === this.#epoch && this.state === 'probing') {
      this.state = 'open'
      this.#dueAt = 0
    }
  }

  /** The upstream came up anew. */
  heal(): void {
    if (this.state !== 'closed') this.#close('the upstream came up anew')
    this.#failures = 0
    this.#lateTool = undefined
    this.#slow.forget()
  }

  /** The member that `status` shows. */
  status(): JsonObject {
    const { state, opened, retryAfterMs } = this
    const rest = state === 'closed' ? {} : { why: describeReason(this), retryAfterMs }
    return { state, failures: this.#failures, opened, ...rest }
  }

  #open(why: string, detail?: string): void {
    const { clock, log, random } = this.#host
    const now = clock.now()
    // An upstream that falls ill again soon after its last rest gets a longer one.
    const isAgain = this.state === 'probing' || now - this.#closedAt <= this.#lastRestMs
    this.#rests = isAgain ? this.#rests + 1 : 1
    const restMs = Math.min(this.#limits.open * this.#rests * (1 - JITTER + 2 * JITTER * random()), MAX_MS)
    this.#lastRestMs = restMs
    this.#dueAt = now + restMs
    this.state = 'open'
    this.why = why
    this.detail = detail
    this.opened++
    this.#failures = 0
    this.#lateTool = undefined
    this.#epoch++
    this.#slow.forget()
    log.warn('the upstream is given a rest', {
      ...this.#fields(),
      why: describeReason(this),
      ms: Math.round(restMs),
    })
    this.#host.opened()
  }

  #close(why: string): void {
    this.state = 'closed'
    this.#closedAt = this.#host.clock.now()
    this.#slow.forget()
    this.#epoch++
    this.#host.log.info('calls to the upstream go through again', { ...this.#fields(), why })
  }

  #fields(): Record<string, unknown> {
    return { upstream: this.#host.upstream }
  }
}

/** When the share of slow calls is too large. */
interface SlowLimits {
  /** Share of all calls, above 0 up to 1. */
  readonly share: number
  /** Milliseconds that are looked back on. */
  readonly window: number
  /** Fewer calls than this say nothing. */
  readonly calls: number
}

interface Part {
  number: number
  calls: number
  slow: number
}

/** Counts slow calls over a window that moves. */
class SlowShare {
  readonly #limits: SlowLimits
  readonly #partMs: number
  #parts: Part[] = []

  constructor(limits: SlowLimits) {
    this.#limits = limits
    this.#partMs = Math.max(1, limits.window / PARTS)
  }

  /** Counts one call; true when too many are slow now. */
  add(now: number, isSlow: boolean): boolean {
    const number = Math.floor(now / this.#partMs)
    const last = this.#parts.at(-1)
    const part = last?.number === number ? last : this.#begin(number)
    part.calls++
    if (!isSlow) return false
    part.slow++
    return this.#isTooMuch(number)
  }

  forget(): void {
    this.#parts = []
  }

  #begin(number: number): Part {
    const part = { number, calls: 0, slow: 0 }
    this.#parts.push(part)
    if (this.#parts.length > PARTS) this.#parts.shift()
    return part
  }

  #isTooMuch(number: number): boolean {
    let calls = 0
    let slow = 0
    for (const part of this.#parts) {
      if (part.number <= number - PARTS) continue
      calls += part.calls
      slow += part.slow
    }
    return calls >= this.#limits.calls && slow / calls >= this.#limits.share
  }
}
