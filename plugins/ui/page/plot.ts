import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { FigureAnswer, Figures, FigureSpan } from '../types.ts'
import { FIGURE_SPANS } from '../types.ts'
import { formatApiUrl } from './api.ts'
import type { ViewNode } from './components.ts'
import { Field, formatCount, formatDuration, formatTime, Problem } from './components.ts'
import type { PageLocation } from './state.ts'
import { updateParams, useQuery } from './state.ts'

const EVERY_MS = 10_000
const BYTES_OF_TOKEN = 3.6
const WIDTH = 360
const HEIGHT = 100
/** Label positions on an axis, from its start. */
const VALUE_TICKS = [1, 0.5, 0]
const TIME_TICKS = [0, 1 / 3, 2 / 3, 1]

interface PlotsProps {
  readonly route: PageLocation
  readonly server: string
  /** Servers to choose from, if any. */
  readonly servers?: readonly string[]
}

/** Charts for calls to one server, or to all with an empty name, over a selectable span. */
export function Plots({ route, server, servers = [] }: PlotsProps): ViewNode {
  const name = route.params.get('span') ?? '1h'
  const span = FIGURE_SPANS[name] ?? FIGURE_SPANS['1h']
  const url = formatApiUrl('figures', { span: name, server })
  const { data, problem } = useQuery<FigureAnswer>(url, { every: EVERY_MS, on: ['call'] })
  const { figures, now } = data ?? { figures: [], now: Date.now() }
  const sum = (value: (one: Figures) => number): number => figures.reduce((total, one) => total + value(one), 0)
  const [calls, failed, refused] = [sum(one => one.calls), sum(one => one.failed), sum(one => one.refused)]
  const worst = Math.max(0, ...figures.map(one => one.p95))
  const plots: readonly PlotLook[] = [
    {
      title: 'Calls',
      series: [
        { name: 'calls', value: one => one.calls },
        { name: 'failed', value: one => one.failed },
        { name: 'refused', value: one => one.refused },
      ],
      text: formatCount,
      summary: `${formatCount(calls)} · ${formatCount(failed)} failed · ${formatCount(refused)} refused`,
      least: 2,
      isSum: true,
    },
    {
      title: 'Latency (p95)',
      series: [{ name: '', value: one => one.p95 }],
      text: formatDuration,
      summary: calls === 0 ? 'no calls' : `at most ${formatDuration(worst)}`,
      least: 1,
    },
    {
      title: 'Served from cache',
      series: [{ name: '', value: one => (100 * one.cached) / one.calls }],
      text: value => `${formatCount(value)} %`,
      summary: calls === 0 ? 'no calls' : `${formatCount((100 * sum(one => one.cached)) / calls)} %`,
      least: 100,
    },
    {
      title: 'Tokens, estimated',
      series: [{ name: '', value: one => Math.round(one.bytes / BYTES_OF_TOKEN) }],
      text: formatCount,
      summary: formatCount(Math.round(sum(one => one.bytes) / BYTES_OF_TOKEN)),
      least: 2,
      isSum: true,
    },
  ]
  return html`<${PlotFilters} ...${{ route, name, server, servers }} />
    <${Problem} of=${problem} />
    <div class="plots">
      ${plots.map(one => html`<${Plot} ...${one} figures=${figures} now=${now} span=${span} key=${one.title} />`)}
    </div>`
}

function PlotFilters({ route, name, server, servers = [] }: PlotsProps & { name: string }): ViewNode {
  const spans = Object.entries(FIGURE_SPANS).map(([id, { label }]) => [id, label])
  const all = [['', 'all'], ...servers.map(one => [one, one])]
  return html`<div class="filters">
    <${Field} label="Span" value=${name} options=${spans} change=${(span: string) => updateParams(route, { span })} />
    ${servers.length === 0 ? null : html`<${Field} label="Server" value=${server} options=${all} change=${(one: string) => updateParams(route, { server: one })} />`}
  </div>`
}

/** A line in a chart. */
interface PlotSeries {
  /** Also the class of the line. */
  readonly name: string
  readonly value: (figures: Figures) => number
}

interface PlotLook {
  readonly title: string
  /** The first one has an area; the others appear if they are not zero. */
  readonly series: readonly PlotSeries[]
  readonly text: (value: number) => string
  readonly summary: string
  /** Smallest value at the axis top. */
  readonly least: number
  /** True for sums, which are 0 without calls. */
  readonly isSum?: boolean
}

type PlotProps = PlotLook & FigureAnswer & { readonly span: FigureSpan }

function Plot({ title, figures, now, span, series, text, summary, least, isSum = false }: PlotProps): ViewNode {
  const [chosen, setChosen] = useState<number | undefined>()
  const last = span.intervals - 1
  const start = Math.floor(now / span.intervalMs - last) * span.intervalMs
  const slots = new Array<Figures | undefined>(span.intervals).fill(undefined)
  for (const one of figures) if (one.at >= start) slots[(one.at - start) / span.intervalMs] = one
  const lines = series
    .map(({ name, value }) => ({ name, values: slots.map(one => (one === undefined ? undefined : value(one))) }))
    .filter(({ values }, index) => index === 0 || values.some(value => value !== undefined && value > 0))
  const top = roundUp(Math.max(least, ...lines.flatMap(({ values }) => values.map(value => value ?? 0))))
  const move = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    setChosen(Math.min(last, Math.max(0, Math.round(((event.clientX - left) / width) * last))))
  }
  const describe = (index: number): string => {
    const values = lines.map(line => ({ name: line.name, value: line.values[index] ?? (isSum ? 0 : undefined) }))
    const texts = values.map(({ name, value }) => (value === undefined ? 'no calls' : `${text(value)} ${name}`.trim()))
    return `${texts.join(', ')} at ${formatTime(start + index * span.intervalMs)}`
  }
  return html`<figure class="plot">
    <figcaption>
      <span
        >${title} ${lines.slice(1).map(({ name }) => html`${' '}<small class=${`key ${name}`}>${name}</small>`)}</span
      >
      <strong>${chosen === undefined ? summary : describe(chosen)}</strong>
    </figcaption>
    <div class="axes">
      <div class="values" aria-hidden="true">${VALUE_TICKS.map(part => html`<span>${text(part * top)}</span>`)}</div>
      <svg
        viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label=${`${title}, last ${span.label}: ${summary}`}
        onPointerMove=${move}
        onPointerLeave=${() => setChosen(undefined)}
      >
        <path class="grid" d=${VALUE_TICKS.map(part => `M0 ${HEIGHT * (1 - part)}H${WIDTH}`).join('')} />
        <path class="area" d=${createAreaPath(lines[0]?.values ?? [], top, isSum)} />
        ${lines.map(({ name, values }) => html`<path class=${name} d=${createLinePath(values, top, isSum)} />`)}
        ${chosen === undefined ? null : html`<path class="cursor" d=${`M${(chosen * WIDTH) / last} 0V${HEIGHT}`} />`}
      </svg>
      <div class="times" aria-hidden="true">
        ${TIME_TICKS.map(part => html`<span>${formatTime(start + part * last * span.intervalMs).slice(0, 5)}</span>`)}
      </div>
    </div>
  </figure>`
}

/** Rounds up so that the half is a round number too. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 2, 4].find(factor => factor * unit >= value) ?? 10)
}

type PlotValues = readonly (number | undefined)[]

type PlotPoint = readonly [x: number, y: number]

/** Splits values into unbroken lines. An interval without calls is 0 for sums, and a gap for measures. */
function splitIntoLines(values: PlotValues, top: number, isSum: boolean): PlotPoint[][] {
  const lines: PlotPoint[][] = [[]]
  values.forEach((value, x) => {
    if (value === undefined && !isSum) return void lines.push([])
    lines.at(-1)?.push([(x * WIDTH) / (values.length - 1), HEIGHT * (1 - (value ?? 0) / top)])
  })
  return lines.filter(line => line.length > 0)
}

function createLinePath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum).map(formatPath).join('')
}

/** A line without length makes an isolated point visible. */
function formatPath(points: readonly PlotPoint[]): string {
  return `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}h0`
}

function createAreaPath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum)
    .map(points => `${formatPath(points)}L${points.at(-1)?.[0] ?? 0} ${HEIGHT}L${points[0]?.[0] ?? 0} ${HEIGHT}Z`)
    .join('')
}
