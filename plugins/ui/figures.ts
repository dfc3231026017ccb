import type { Figures } from './types.ts'

const EVERY_MS = 10_000
/** An hour of them. */
const KEPT = 360
/** Upper ends of classes of durations: each is a third more than the one before, from a tenth of a millisecond to an hour. */
const CLASSES = 60
const FIRST_MS = 0.1
const GROWTH = 4 / 3

interface Span {
  readonly at: number
  calls: number
  failed: number
  cached: number
  bytes: number
  readonly classes: Uint32Array
}

/** A call, as far as figures are made of it. */
export interface CountedCall {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly isFailed: boolean
  readonly isCached: boolean
  readonly bytes: number
}

/** Counts what is called in the last hour, ten seconds at a time. */
export class FigureRing {
  readonly #spans: Span[] = []

  add({ at, ms, isFailed, isCached, bytes }: CountedCall): void {
    const span = this.#spanAt(Math.floor(at / EVERY_MS) * EVERY_MS)
    span.calls++
    span.bytes += bytes
    if (isFailed) span.failed++
    if (isCached) span.cached++
    const place = classOf(ms)
    span.classes[place] = (span.classes[place] ?? 0) + 1
  }

  /** Spans of the last hour in which anything was called. */
  read(now: number): Figures[] {
    const since = now - KEPT * EVERY_MS
    return this.#spans
      .filter(({ at }) => at >= since)
      .map(({ classes, ...span }) => ({
        ...span,
        p50: quantile(classes, span.calls / 2),
        p95: quantile(classes, span.calls * 0.95),
      }))
  }

  /** A clock that was set back changes nothing but where calls are counted. */
  #spanAt(at: number): Span {
    const last = this.#spans.at(-1)
    if (last !== undefined && last.at >= at) return last
    const span = { at, calls: 0, failed: 0, cached: 0, bytes: 0, classes: new Uint32Array(CLASSES) }
    this.#spans.push(span)
    if (this.#spans.length > KEPT) this.#spans.shift()
    return span
  }
}

function classOf(ms: number): number {
  const place = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(GROWTH))
  return Math.min(place, CLASSES - 1)
}

/** Upper end of the class that the call of this rank is in. */
function quantile(classes: Uint32Array, rank: number): number {
  let sum = 0
  const place = classes.findIndex(count => (sum += count) >= rank)
  return Math.round(FIRST_MS * GROWTH ** Math.max(place, 0) * 10) / 10
}
