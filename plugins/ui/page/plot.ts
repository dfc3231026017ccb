import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { Figures } from '../types.ts'
import type { ViewNode } from './components.ts'
import { formatTime } from './components.ts'

const SPANS = 60
const SPAN_MS = 60_000
const WIDTH = 360
const HEIGHT = 56
const SINGLE_POINT_WIDTH = 6

/** Small chart of the last hour. */
export interface PlotProps {
  readonly title: string
  readonly figures: readonly Figures[]
  readonly value: (figures: Figures) => number
  /** Second line, in the error color. */
  readonly second?: (figures: Figures) => number
  readonly text: (value: number) => string
  readonly summary: string
  /** True for values summed over a minute. */
  readonly isSum: boolean
}

export function Plot({ title, figures, value, second, text, summary, isSum }: PlotProps): ViewNode {
  const [chosen, setChosen] = useState<number | undefined>()
  const end = Math.floor(Date.now() / SPAN_MS) * SPAN_MS
  const spans = groupByMinute(figures, end)
  const values = spans.map(span => (span === undefined ? undefined : value(span)))
  const secondValues = second === undefined ? [] : spans.map(span => (span === undefined ? undefined : second(span)))
  const top = Math.max(1e-9, ...values.map(one => one ?? 0), ...secondValues.map(one => one ?? 0))
  const chosenSpan = chosen === undefined ? undefined : spans[chosen]
  const move = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    setChosen(Math.min(SPANS - 1, Math.max(0, Math.round(((event.clientX - left) / width) * (SPANS - 1)))))
  }
  return html`<figure class="plot">
    <figcaption>
      <span>${title}</span>
      <strong
        >${chosenSpan === undefined ? summary : `${text(value(chosenSpan))} at ${formatTime(chosenSpan.at)}`}</strong
      >
    </figcaption>
    <svg
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label=${`${title}, last hour: ${summary}`}
      onPointerMove=${move}
      onPointerLeave=${() => setChosen(undefined)}
    >
      <path class="area" d=${createAreaPath(values, top, isSum)} />
      <path class="line" d=${createLinePath(values, top, isSum)} />
      ${second === undefined ? null : html`<path class="line second" d=${createLinePath(secondValues, top, isSum)} />`}
    </svg>
  </figure>`
}

/** Groups figures by minute: sums, and the maximum latency. */
function groupByMinute(figures: readonly Figures[], end: number): (Figures | undefined)[] {
  const spans = new Array<Figures | undefined>(SPANS).fill(undefined)
  for (const one of figures) {
    const at = Math.floor(one.at / SPAN_MS) * SPAN_MS
    const index = SPANS - 1 - (end - at) / SPAN_MS
    if (index >= 0 && index < SPANS) spans[index] = mergeFigures(spans[index], { ...one, at })
  }
  return spans
}

function mergeFigures(a: Figures | undefined, b: Figures): Figures {
  if (a === undefined) return b
  return {
    at: a.at,
    calls: a.calls + b.calls,
    failed: a.failed + b.failed,
    cached: a.cached + b.cached,
    bytes: a.bytes + b.bytes,
    p95: Math.max(a.p95, b.p95),
  }
}

type PlotValues = readonly (number | undefined)[]

type PlotPoint = readonly [x: number, y: number]

/** Splits values into unbroken lines. A minute without calls is 0 for sums, and a gap for measures. */
function splitIntoLines(values: PlotValues, top: number, isSum: boolean): PlotPoint[][] {
  const lines: PlotPoint[][] = [[]]
  values.forEach((value, x) => {
    if (value === undefined && !isSum) return void lines.push([])
    const y = HEIGHT - 2 - ((value ?? 0) / top) * (HEIGHT - 6)
    lines.at(-1)?.push([(x * WIDTH) / (SPANS - 1), y])
  })
  return lines.filter(line => line.length > 0)
}

function createLinePath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum).map(formatPath).join('')
}

/** Draws an isolated point as a short line. */
function formatPath(points: readonly PlotPoint[]): string {
  const [first] = points
  if (first !== undefined && points.length === 1) {
    const [from, to] = [
      Math.max(0, first[0] - SINGLE_POINT_WIDTH / 2),
      Math.min(WIDTH, first[0] + SINGLE_POINT_WIDTH / 2),
    ]
    return `M${from} ${first[1].toFixed(1)}H${to}`
  }
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
}

function createAreaPath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum)
    .map(points => `${formatPath(points)}L${points.at(-1)?.[0] ?? 0} ${HEIGHT}L${points[0]?.[0] ?? 0} ${HEIGHT}Z`)
    .join('')
}
