import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock, Metric, JsonObject, Log } from '../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../src/plugin.ts'
import type { CollectorReply } from './collector-client.ts'
import { CollectorClient, SpanBuffer } from './collector-client.ts'

/** Retryable statuses (OTLP/HTTP, failures). */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000
const MAX_ATTEMPTS = 5
/** Maximum characters per request. */
const MAX_REQUEST_LENGTH = 4 * 1024 * 1024
/** Maximum queued characters. */
const MAX_QUEUED_LENGTH = 16 * 1024 * 1024
const SECOND_MS = 1000

/** Compresses in a pool thread. The fastest level saves 90 %, because spans are similar. */
const compress = promisify(gzip)
const FASTEST = { level: constants.Z_BEST_SPEED }

/** Collector and queue settings. */
interface ExporterSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: 'none' | 'gzip'
  readonly queue: number
  readonly batch: number
  readonly everyMs: number
  /** JSON around a request's spans. */
  readonly before: string
  readonly after: string
}

/** Span counters by outcome; they survive a reload. */
export class SpanCounts {
  sent = 0
  dropped = 0
  failed = 0

  listFigures(waiting: number): Metric[] {
    const samples = Object.entries({ sent: this.sent, dropped: this.dropped, failed: this.failed })
    return [
      {
        name: 'tapgate_spans',
        type: 'counter',
        help: 'Spans by outcome: sent, dropped (queue full), or failed.',
        samples: samples.map(([outcome, value]) => ({ suffix: '_total', labels: { outcome }, value })),
      },
      {
        name: 'tapgate_spans_waiting',
        type: 'gauge',
        help: 'Queued spans.',
        samples: [{ value: waiting }],
      },
    ]
  }
}

type PostResult = 'ok' | 'refused' | { readonly retryInMs: number | undefined; readonly why: string }

/** Sends spans in batches, one at a time. Adding a span never waits; spans over the limit are dropped and counted. */
export class Exporter {
  readonly #settings: ExporterSettings
  readonly #clock: Clock
  readonly #log: Log
  readonly #counts: SpanCounts
  readonly #waiting = new SpanBuffer()
  readonly #client: CollectorClient
  readonly #headers: ExporterSettings['headers']
  readonly #around: { readonly before: Buffer; readonly after: Buffer }
  #stopTimer: (() => void) | undefined
  #sending: Promise<void> | undefined
  #failure: string | undefined
  #hasDropped = false
  readonly #closing = new AbortController()

  constructor(settings: ExporterSettings, counts: SpanCounts, { clock, log }: { clock: Clock; log: Log }) {
    this.#settings = settings
    this.#client = new CollectorClient(settings.url)
    this.#headers =
      settings.compression === 'gzip' ? { ...settings.headers, 'content-encoding': 'gzip' } : settings.headers
    this.#around = { before: Buffer.from(settings.before), after: Buffer.from(settings.after) }
    this.#counts = counts
    this.#clock = clock
    this.#log = log
  }

  /** Last failure; undefined after a success. */
  get failure(): string | undefined {
    return this.#failure
  }

  get waiting(): number {
    return this.#waiting.count
  }

  /** True if the queue has capacity; otherwise counts a dropped span. */
  hasRoom(): boolean {
    if (this.#waiting.count < this.#settings.queue && this.#waiting.bytes < MAX_QUEUED_LENGTH) return true
    this.#counts.dropped++
    if (this.#hasDropped) return false
    this.#hasDropped = true
    this.#log.warn('span queue full, dropping spans', { queue: this.#settings.queue })
    return false
  }

  /** Queues a span as JSON; requires capacity. */
  add(span: string): void {
    this.#waiting.add(span)
    if (this.#sending !== undefined) return
    if (this.#waiting.count >= this.#settings.batch) this.#startSending()
    else this.#stopTimer ??= this.#clock.after(this.#settings.everyMs, () => this.#startSending())
  }

  /** Flushes the queue within a time limit; counts the remainder as failed. */
  async close(withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), withinMs)
    timer.unref()
    const deadline = new Promise<void>(resolve =>
      this.#closing.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    while (this.#waiting.count > 0 && !this.#closing.signal.aborted) {
      this.#startSending()
      await Promise.race([this.#sending, deadline])
    }
    clearTimeout(timer)
    this.#closing.abort()
    this.#counts.failed += this.#waiting.count
    this.#waiting.remove(this.#waiting.count)
    this.#stopTimer?.()
    this.#client.close()
  }

  #startSending(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      if (this.#waiting.count > 0 && !this.#closing.signal.aborted)
        this.#stopTimer ??= this.#clock.after(this.#settings.everyMs, () => this.#startSending())
    })
  }

  async #sendAll(): Promise<void> {
    do await this.#sendBatch()
    while (this.#waiting.count >= this.#settings.batch && !this.#closing.signal.aborted)
  }

  /** Sends one batch with retries. It stays queued meanwhile, so that it counts against the limit. */
  async #sendBatch(): Promise<void> {
    const { body: plain, count } = this.#waiting.takeBody(this.#settings.batch, MAX_REQUEST_LENGTH, this.#around)
    const body = this.#settings.compression === 'gzip' ? await compress(plain, FASTEST) : plain
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#post(body, count)
      if (sent === 'ok' || sent === 'refused') return this.#removeSent(count)
      this.#recordFailure(sent.why)
      if (this.#closing.signal.aborted) return
      if (attempt >= MAX_ATTEMPTS) {
        this.#counts.failed += count
        return this.#removeSent(count)
      }
      await this.#sleep(sent.retryInMs ?? Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS))
    }
  }

  #removeSent(count: number): void {
    this.#waiting.remove(Math.min(count, this.#waiting.count))
    this.#hasDropped = false
  }

  async #post(body: Uint8Array<ArrayBuffer>, count: number): Promise<PostResult> {
    const { timeoutMs } = this.#settings
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal])
    try {
      const reply = await this.#client.send({ headers: this.#headers, body, signal })
      if (reply.status >= 200 && reply.status < 300) return this.#recordAccepted(reply.text, count)
      const reason = `HTTP ${reply.status}`
      if (RETRYABLE_STATUSES.has(reply.status)) return { retryInMs: getRetryAfterMs(reply), why: reason }
      this.#recordFailure(reason)
      this.#counts.failed += count
      return 'refused'
    } catch (error) {
      return { retryInMs: undefined, why: describeError(error) }
    }
  }

  /** A collector may reject some spans. */
  #recordAccepted(text: string, count: number): 'ok' {
    const rejected = Math.min(count, parseRejectedCount(text))
    this.#counts.sent += count - rejected
    this.#counts.failed += rejected
    if (this.#failure !== undefined) this.#log.info('span export recovered')
    this.#failure = undefined
    return 'ok'
  }

  #recordFailure(reason: string): void {
    if (this.#closing.signal.aborted) return
    if (this.#failure === undefined)
      this.#log.warn('span export failed', { to: new URL(this.#settings.url).origin, reason })
    this.#failure = reason
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const { signal } = this.#closing
      const takeBack = this.#clock.after(Math.min(ms, MAX_PAUSE_MS), resume)
      signal.addEventListener('abort', resume)
      function resume(): void {
        takeBack()
        signal.removeEventListener('abort', resume)
        resolve()
      }
    })
  }
}

function getRetryAfterMs(reply: CollectorReply): number | undefined {
  const seconds = Number(reply.retryAfter ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * SECOND_MS : undefined
}

/** If several addresses failed, the error has only a code. */
function describeError(error: unknown): string {
  const { code } = isObject(error) ? error : {}
  return (error instanceof Error && error.message === '' && typeof code === 'string' && code) || getErrorMessage(error)
}

function parseRejectedCount(text: string): number {
  try {
    const reply = JSON.parse(text) as JsonObject
    const partial = isObject(reply) ? reply.partialSuccess : undefined
    const rejected = isObject(partial) ? Number(partial.rejectedSpans) : 0
    return Number.isFinite(rejected) && rejected > 0 ? rejected : 0
  } catch {
    return 0
  }
}
