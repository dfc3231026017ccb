import type { Clock, Log } from '../api/index.ts'
import { formatPeerText } from '../util/log.ts'

const WINDOW_MS = 10_000
const MAX_LINES = 1000
const MAX_BYTES = 1024 * 1024
const DESCRIPTIONS = {
  garbage: 'skipped invalid output',
  response: 'dropped a response to an unknown request',
  progress: 'dropped progress with an unknown token',
  excess_progress: 'dropped progress above 20 per second per call',
  excess_message: 'dropped log messages above 100 per second per call',
  oversize: 'skipped an oversized message',
  message: 'dropped a log message without a request',
  request: 'dropped a duplicate request, or one that this protocol version does not have',
  ask: 'refused a request that matches no call',
  cancellation: 'dropped a cancellation of an unknown request',
  completion: 'dropped the completion of an unknown elicitation',
} as const

type DroppedKind = keyof typeof DESCRIPTIONS

/** Counts dropped messages, and logs the 1st, 10th, 100th … one. */
export class DroppedMessages {
  readonly #log: Log
  /** Undefined if invalid output has no limit. */
  readonly #clock: Clock | undefined
  readonly #counts: Partial<Record<DroppedKind, number>> = {}
  #startedAt = -Infinity
  #lines = 0
  #bytes = 0
  #exceededAt = -Infinity

  constructor(log: Log, clock?: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Problem text for a server that sends mostly garbage; undefined ten seconds after the last excess message. */
  get degraded(): string | undefined {
    if (this.#clock === undefined || this.#clock.now() - this.#exceededAt >= WINDOW_MS) return undefined
    return `invalid output: ${this.#lines} lines, ${this.#bytes} bytes in 10 s; see the log for a sample`
  }

  /** Counts by kind; undefined if no message was dropped. */
  get counts(): Readonly<Record<string, number>> | undefined {
    return Object.keys(this.#counts).length === 0 ? undefined : { ...this.#counts }
  }

  /** Counts bytes that are not a message. */
  countGarbage(bytes: Buffer): void {
    this.#limitGarbage(bytes)
    this.count('garbage', () => bytes.toString('utf8', 0, 400))
  }

  count(kind: DroppedKind, sample?: () => string): void {
    const count = (this.#counts[kind] ?? 0) + 1
    this.#counts[kind] = count
    if (!/^10*$/.test(String(count))) return
    const fields = { count, ...(sample && { sample: formatPeerText(sample(), 200) }) }
    if (kind === 'garbage' || kind === 'oversize') this.#log.warn(DESCRIPTIONS[kind], fields)
    else this.#log.debug(DESCRIPTIONS[kind], fields)
  }

  /** Limits the garbage that a server may send: 1,000 lines or 1 MiB in ten seconds. */
  #limitGarbage(bytes: Buffer): void {
    const now = this.#clock?.now() ?? 0
    if (now - this.#startedAt >= WINDOW_MS) {
      this.#startedAt = now
      this.#lines = this.#bytes = 0
    }
    this.#lines++
    this.#bytes += bytes.length
    if (this.#lines <= MAX_LINES && this.#bytes <= MAX_BYTES) return
    const wasDegraded = this.degraded !== undefined
    this.#exceededAt = now
    const sample = formatPeerText(bytes.toString('utf8', 0, 400), 200)
    if (!wasDegraded) this.#log.warn('most of its output is invalid', { degraded: this.degraded, sample })
  }
}
