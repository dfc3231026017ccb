import type { Figures } from './types.ts'

const SPAN_MS = 10_000
/** One hour. */
const MAX_SPANS = 360
/** Upper bounds of the latency classes: each is a third larger, from 0.1 ms to an hour. */
const DURATION_CLASSES = 60
const MIN_CLASS_MS = 0.1
const GROWTH = 4 / 3

interface FigureSpan {
  readonly at: number
  calls: number
  failed: number
  cached: number
  bytes: number
  readonly classes: Uint32Array
}

/** Call data for the figures. */
interface CallSample {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly isFailed: boolean
  readonly isCached: boolean
  readonly bytes: number
}

/** Call statistics for the last hour, in intervals of ten seconds. */
export class FigureRing {
  readonly #spans: FigureSpan[] = []

  add({ at, ms, isFailed, isCached, bytes }: CallSample): void {
    const span = this.#getSpan(Math.floor(at / SPAN_MS) * SPAN_MS)
    span.calls++
    span.bytes += bytes
    if (isFailed) span.failed++
    if (isCached) span.cached++
    const index = getDurationClass(ms)
    span.classes[index] = (span.classes[index] ?? 0) + 1
  }

  /** Returns the intervals with calls in the last hour. */
  read(now: number): Figures[] {
    const since = now - MAX_SPANS * SPAN_MS
    return this.#spans
      .filter(({ at }) => at >= since)
      .map(({ classes, ...span }) => ({
        ...span,
        p95: computeQuantile(classes, span.calls * 0.95),
      }))
  }

  /** If the system clock moves back, calls count in the last interval. */
  #getSpan(at: number): FigureSpan {
    const last = this.#spans.at(-1)
    if (last !== undefined && last.at >= at) return last
    const span = { at, calls: 0, failed: 0, cached: 0, bytes: 0, classes: new Uint32Array(DURATION_CLASSES) }
    this.#spans.push(span)
    if (this.#spans.length > MAX_SPANS) this.#spans.shift()
    return span
  }
}

function getDurationClass(ms: number): number {
  const index = Math.ceil(Math.log(Math.max(ms, MIN_CLASS_MS) / MIN_CLASS_MS) / Math.log(GROWTH))
  return Math.min(index, DURATION_CLASSES - 1)
}

/** Upper bound of the class with this rank. */
function computeQuantile(classes: Uint32Array, rank: number): number {
  let sum = 0
  const index = classes.findIndex(count => (sum += count) >= rank)
  return Math.round(MIN_CLASS_MS * GROWTH ** Math.max(index, 0) * 10) / 10
}
