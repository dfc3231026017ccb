import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock, Metric, JsonObject, Log } from '../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../src/plugin.ts'
import type { Reply } from './waiting.ts'
import { Post, SpanBuffer } from './waiting.ts'

/** Statuses after which the same may be sent again (OTLP/HTTP, failures). */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000
const MAX_ATTEMPTS = 5
/** Characters of one request; a batch is cut there. */
const MAX_CHARACTERS = 4 * 1024 * 1024
/** Characters that may wait, whatever their number. */
const MAX_WAITING = 16 * 1024 * 1024
const THOUSAND = 1000

/** Packs in a thread of the pool. Spans are much alike: the fastest level takes nine tenths away. */
const packed = promisify(gzip)
const FASTEST = { level: constants.Z_BEST_SPEED }

/** Place that spans are sent to, and the bounds on what waits. */
interface ExporterSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: 'none' | 'gzip'
  readonly queue: number
  readonly batch: number
  readonly everyMs: number
  /** Texts around the spans of a request. */
  readonly before: string
  readonly after: string
}

/** Numbers of spans by what became of them; they go on through reloads. */
export class SpanCounts {
  sent = 0
  dropped = 0
  failed = 0

  figures(waiting: number): Metric[] {
    const samples = Object.entries({ sent: this.sent, dropped: this.dropped, failed: this.failed })
    return [
      {
        name: 'tapgate_spans',
        type: 'counter',
        help: 'Spans by what became of them: sent, dropped as too many waited, or failed to be sent.',
        samples: samples.map(([outcome, value]) => ({ suffix: '_total', labels: { outcome }, value })),
      },
      {
        name: 'tapgate_spans_waiting',
        type: 'gauge',
        help: 'Spans that wait.',
        samples: [{ value: waiting }],
      },
    ]
  }
}

type Sent = 'ok' | 'refused' | { readonly againInMs: number | undefined; readonly why: string }

/** Sends spans in batches, one at a time. Whoever adds one never waits; what is too much is dropped and counted. */
export class Exporter {
  readonly #settings: ExporterSettings
  readonly #clock: Clock
  readonly #log: Log
  readonly #counts: SpanCounts
  readonly #waiting = new SpanBuffer()
  readonly #poster: Post
  readonly #headers: ExporterSettings['headers']
  readonly #around: { readonly before: Buffer; readonly after: Buffer }
  #stopTimer: (() => void) | undefined
  #sending: Promise<void> | undefined
  #failure: string | undefined
  #hasDropped = false
  readonly #ending = new AbortController()

  constructor(settings: ExporterSettings, counts: SpanCounts, { clock, log }: { clock: Clock; log: Log }) {
    this.#settings = settings
    this.#poster = new Post(settings.url)
    this.#headers =
      settings.compression === 'gzip' ? { ...settings.headers, 'content-encoding': 'gzip' } : settings.headers
    this.#around = { before: Buffer.from(settings.before), after: Buffer.from(settings.after) }
    this.#counts = counts
    this.#clock = clock
    this.#log = log
  }

  /** Reason why the last spans were not sent; undefined where they were, or none had to be. */
  get failure(): string | undefined {
    return this.#failure
  }

  get waiting(): number {
    return this.#waiting.count
  }

  /** True if one more span may wait; if not, it counts as dropped, and need not be written at all. */
  hasRoom(): boolean {
    if (this.#waiting.count < this.#settings.queue && this.#waiting.bytes < MAX_WAITING) return true
    this.#counts.dropped++
    if (this.#hasDropped) return false
    this.#hasDropped = true
    this.#log.warn('spans are dropped: too many wait for the collector', { queue: this.#settings.queue })
    return false
  }

  /** Adds a span as JSON; there must be room. */
  add(span: string): void {
    this.#waiting.add(span)
    if (this.#sending !== undefined) return
    if (this.#waiting.count >= this.#settings.batch) this.#begin()
    else this.#stopTimer ??= this.#clock.after(this.#settings.everyMs, () => this.#begin())
  }

  /** Sends what waits, for so long at most. What is left then is counted as failed. */
  async close(withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.#ending.abort(), withinMs)
    timer.unref()
    const given = new Promise<void>(resolve =>
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    while (this.#waiting.count > 0 && !this.#ending.signal.aborted) {
      this.#begin()
      await Promise.race([this.#sending, given])
    }
    clearTimeout(timer)
    this.#ending.abort()
    this.#counts.failed += this.#waiting.count
    this.#waiting.take(this.#waiting.count)
    this.#stopTimer?.()
    this.#poster.close()
  }

  #begin(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      if (this.#waiting.count > 0 && !this.#ending.signal.aborted)
        this.#stopTimer ??= this.#clock.after(this.#settings.everyMs, () => this.#begin())
    })
  }

  async #sendAll(): Promise<void> {
    do await this.#sendBatch()
    while (this.#waiting.count >= this.#settings.batch && !this.#ending.signal.aborted)
  }

  /** One batch, until it is sent or given up. It waits in its place, so that it counts as what waits. */
  async #sendBatch(): Promise<void> {
    const { body: plain, count } = this.#waiting.first(this.#settings.batch, MAX_CHARACTERS, this.#around)
    const body = this.#settings.compression === 'gzip' ? await packed(plain, FASTEST) : plain
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#post(body, count)
      if (sent === 'ok' || sent === 'refused') return this.#take(count)
      this.#failing(sent.why)
      if (this.#ending.signal.aborted) return
      if (attempt >= MAX_ATTEMPTS) {
        this.#counts.failed += count
        return this.#take(count)
      }
      await this.#pause(sent.againInMs ?? Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS))
    }
  }

  #take(count: number): void {
    this.#waiting.take(Math.min(count, this.#waiting.count))
    this.#hasDropped = false
  }

  async #post(body: Uint8Array<ArrayBuffer>, count: number): Promise<Sent> {
    const { timeoutMs } = this.#settings
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#ending.signal])
    try {
      const reply = await this.#poster.send({ headers: this.#headers, body, signal })
      if (reply.status >= 200 && reply.status < 300) return this.#accepted(reply.text, count)
      const why = `HTTP ${reply.status}`
      if (PASSING.has(reply.status)) return { againInMs: retryAfter(reply), why }
      this.#failing(why)
      this.#counts.failed += count
      return 'refused'
    } catch (error) {
      return { againInMs: undefined, why: whyOf(error) }
    }
  }

  /** A collector may take a part, and says how many it did not. */
  #accepted(text: string, count: number): 'ok' {
    const rejected = Math.min(count, rejectedIn(text))
    this.#counts.sent += count - rejected
    this.#counts.failed += rejected
    if (this.#failure !== undefined) this.#log.info('spans are sent again')
    this.#failure = undefined
    return 'ok'
  }

  #failing(reason: string): void {
    if (this.#ending.signal.aborted) return
    if (this.#failure === undefined)
      this.#log.warn('spans cannot be sent', { to: new URL(this.#settings.url).origin, reason })
    this.#failure = reason
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const { signal } = this.#ending
      const takeBack = this.#clock.after(Math.min(ms, MAX_PAUSE_MS), done)
      signal.addEventListener('abort', done)
      function done(): void {
        takeBack()
        signal.removeEventListener('abort', done)
        resolve()
      }
    })
  }
}

function retryAfter(reply: Reply): number | undefined {
  const seconds = Number(reply.retryAfter ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * THOUSAND : undefined
}

/** Where several addresses were tried, the error has a code alone. */
function whyOf(error: unknown): string {
  const { code } = isObject(error) ? error : {}
  return (
    (error instanceof Error && error.message === '' && typeof code === 'string' && code) ||
    getErrorMessage(error)
  )
}

function rejectedIn(text: string): number {
  try {
    const reply = JSON.parse(text) as JsonObject
    const partial = isObject(reply) ? reply.partialSuccess : undefined
    const rejected = isObject(partial) ? Number(partial.rejectedSpans) : 0
    return Number.isFinite(rejected) && rejected > 0 ? rejected : 0
  } catch {
    return 0
  }
}
