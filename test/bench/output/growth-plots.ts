/** The plots of a result, by the name of their file. */
import type { Measured } from '../load/messages.ts'
import type { SubjectResult, WorkResult } from '../measure.ts'
import { plotOf, type Series } from './plot.ts'

interface GrowthPlot {
  readonly file: string
  readonly key: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly isLogarithmic?: boolean
  figure(measured: Measured): number | undefined
}

const cpu = (measured: Measured): number | undefined => measured.cpu
const rss = (measured: Measured): number | undefined => measured.rss
const PER_CALL = 'CPU µs per call'

const GROWTH: readonly GrowthPlot[] = [
  {
    file: 'tools',
    key: 'grow-tools',
    title: 'A call, by tools listed',
    x: 'tools',
    y: PER_CALL,
    isLogarithmic: true,
    figure: cpu,
  },
  {
    file: 'upstreams',
    key: 'grow-upstreams',
    title: 'A call, by upstreams',
    x: 'upstreams',
    y: PER_CALL,
    figure: cpu,
  },
  {
    file: 'plugins',
    key: 'grow-plugins',
    title: 'A call, by plugins',
    x: 'plugins',
    y: PER_CALL,
    figure: cpu,
  },
  {
    file: 'sessions',
    key: 'grow-sessions',
    title: 'A call, by open sessions',
    x: 'sessions',
    y: PER_CALL,
    figure: cpu,
  },
  {
    file: 'sessions-memory',
    key: 'grow-sessions',
    title: 'Memory, by open sessions',
    x: 'sessions with a stream each',
    y: 'RSS MB',
    figure: rss,
  },
]

const COMPARED = ['raw', 'nginx', 'gateway, 0 plugins', 'gateway, all plugins']
const FLIGHTS = [
  { file: 'flights-http', key: 'small-http-http', title: 'HTTP→HTTP, by calls in flight' },
  { file: 'flights-stdio', key: 'small-stdio-stdio', title: 'stdio→stdio, by calls in flight' },
]

/** All for which there are figures. */
export function plotsOf(works: readonly WorkResult[]): ReadonlyMap<string, string> {
  const plots = new Map<string, string>()
  for (const { file, key, figure, ...words } of GROWTH) {
    const work = works.find(result => result.key === key)
    const points = work?.subjects.flatMap(subject => pointOf(subject, figure)) ?? []
    if (points.length > 1)
      plots.set(
        file,
        plotOf({ ...words, series: [{ label: key === 'grow-plugins' ? '' : 'all plugins', points }] }),
      )
  }
  for (const { file, key, title } of FLIGHTS) {
    const series = COMPARED.map(label =>
      seriesOf(
        label,
        works.filter(work => work.key === key),
      ),
    )
    const shown = series.filter(({ points }) => points.length > 1)
    if (shown.length > 0)
      plots.set(
        file,
        plotOf({ title, x: 'calls in flight', y: PER_CALL, isLogarithmic: true, series: shown }),
      )
  }
  return plots
}

function pointOf(subject: SubjectResult, figure: GrowthPlot['figure']): (readonly [number, number])[] {
  const value = 'measured' in subject ? figure(subject.measured) : undefined
  return value === undefined ? [] : [[Number(subject.label), value]]
}

function seriesOf(label: string, works: readonly WorkResult[]): Series {
  const points = works.flatMap(({ concurrency, subjects }) => {
    const subject = subjects.find(result => result.label === label)
    const value = subject !== undefined && 'measured' in subject ? subject.measured.cpu : undefined
    return value === undefined ? [] : [[concurrency, value] as const]
  })
  return { label: label.replace('gateway, ', ''), points }
}
