import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { Figures } from '../types.ts'
import type { View } from './parts.ts'
import { time } from './parts.ts'

const SPANS = 60
const SPAN_MS = 60_000
const WIDTH = 360
const HEIGHT = 56
/** Width of a point that stands alone. */
const LONE = 6

/** A small plot of the last hour. */
export interface PlotProps {
  readonly title: string
  readonly figures: readonly Figures[]
  readonly value: (figures: Figures) => number
  /** A second line in the colour of trouble. */
  readonly second?: (figures: Figures) => number
  readonly text: (value: number) => string
  /** Says what the hour comes to. */
  readonly summary: string
  /** True for what is added up over a minute. */
  readonly isSum: boolean
}

export function Plot({ title, figures, value, second, text, summary, isSum }: PlotProps): View {
  const [chosen, setChosen] = useState<number | undefined>()
  const end = Math.floor(Date.now() / SPAN_MS) * SPAN_MS
  const spans = spansOf(figures, end)
  const values = spans.map(span => (span === undefined ? undefined : value(span)))
  const others =
    second === undefined ? [] : spans.map(span => (span === undefined ? undefined : second(span)))
  const top = Math.max(1e-9, ...values.map(one => one ?? 0), ...others.map(one => one ?? 0))
  const shown = chosen === undefined ? undefined : spans[chosen]
  const move = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    setChosen(Math.min(SPANS - 1, Math.max(0, Math.round(((event.clientX - left) / width) * (SPANS - 1)))))
  }
  return html`<figure class="plot">
    <figcaption>
      <span>${title}</span>
      <strong>${shown === undefined ? summary : `${text(value(shown))} at ${time(shown.at)}`}</strong>
    </figcaption>
    <svg
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label=${`${title}, last hour: ${summary}`}
      onPointerMove=${move}
      onPointerLeave=${() => setChosen(undefined)}
    >
      <path class="area" d=${areaOf(values, top, isSum)} />
      <path class="line" d=${lineOf(values, top, isSum)} />
      ${second === undefined ? null : html`<path class="line second" d=${lineOf(others, top, isSum)} />`}
    </svg>
  </figure>`
}

/** Minutes of the last hour, each with the sums of its spans, and with its worst latency. */
function spansOf(figures: readonly Figures[], end: number): (Figures | undefined)[] {
  const spans = new Array<Figures | undefined>(SPANS).fill(undefined)
  for (const one of figures) {
    const at = Math.floor(one.at / SPAN_MS) * SPAN_MS
    const place = SPANS - 1 - (end - at) / SPAN_MS
    if (place >= 0 && place < SPANS) spans[place] = together(spans[place], { ...one, at })
  }
  return spans
}

function together(a: Figures | undefined, b: Figures): Figures {
  if (a === undefined) return b
  return {
    at: a.at,
    calls: a.calls + b.calls,
    failed: a.failed + b.failed,
    cached: a.cached + b.cached,
    bytes: a.bytes + b.bytes,
    p50: Math.max(a.p50, b.p50),
    p95: Math.max(a.p95, b.p95),
  }
}

type Values = readonly (number | undefined)[]

type Point = readonly [x: number, y: number]

/** Lines without a gap. A minute without a call is nothing of a sum; of a measure nothing is known of it. */
function linesOf(values: Values, top: number, isSum: boolean): Point[][] {
  const lines: Point[][] = [[]]
  values.forEach((value, x) => {
    if (value === undefined && !isSum) return void lines.push([])
    const y = HEIGHT - 2 - ((value ?? 0) / top) * (HEIGHT - 6)
    lines.at(-1)?.push([(x * WIDTH) / (SPANS - 1), y])
  })
  return lines.filter(line => line.length > 0)
}

function lineOf(values: Values, top: number, isSum: boolean): string {
  return linesOf(values, top, isSum).map(drawn).join('')
}

/** One point alone is a line that can be seen. */
function drawn(points: readonly Point[]): string {
  const [first] = points
  if (first !== undefined && points.length === 1) {
    const [from, to] = [Math.max(0, first[0] - LONE / 2), Math.min(WIDTH, first[0] + LONE / 2)]
    return `M${from} ${first[1].toFixed(1)}H${to}`
  }
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
}

function areaOf(values: Values, top: number, isSum: boolean): string {
  return linesOf(values, top, isSum)
    .map(points => `${drawn(points)}L${points.at(-1)?.[0] ?? 0} ${HEIGHT}L${points[0]?.[0] ?? 0} ${HEIGHT}Z`)
    .join('')
}
