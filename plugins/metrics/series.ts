import type { Metric } from '../../src/plugin.ts'

/** One metric's samples; a counter's name is without `_total`. Prometheus names have `_` for dots. */
export interface Family extends Metric {
  /** Seconds; added to Prometheus names. */
  readonly unit?: 's'
  /** Start of the count in milliseconds since 1970; default: the start of the process. */
  readonly since?: number
}

/** One sample; its suffix is `_total` or `_bucket`, for example. */
export type Sample = Metric['samples'][number]

export type SeriesLabels = Readonly<Record<string, string>>

interface KeyNode<T> {
  readonly next: Map<string, KeyNode<T>>
  value?: T
}

/** Values by several keys, created once. One map for each key is faster than a joined key. */
export class KeyMap<Keys extends readonly string[], T> {
  /** In creation order. */
  readonly values: T[] = []
  readonly #create: (...keys: Keys) => T
  readonly #root: KeyNode<T> = { next: new Map() }

  constructor(create: (...keys: Keys) => T) {
    this.#create = create
  }

  getOrCreate(...keys: Keys): T {
    let node = this.#root
    for (const key of keys) {
      let next = node.next.get(key)
      if (next === undefined) node.next.set(key, (next = { next: new Map() }))
      node = next
    }
    if (node.value === undefined) this.values.push((node.value = this.#create(...keys)))
    return node.value
  }
}

interface HistogramSeries {
  readonly labels: SeriesLabels
  readonly buckets: Float64Array
  count: number
  seconds: number
}

export class Histogram<Keys extends readonly string[]> {
  readonly #bounds: readonly number[]
  readonly #series: KeyMap<Keys, HistogramSeries>
  readonly #since = Date.now()

  constructor(describe: (...keys: Keys) => SeriesLabels, bounds: readonly number[]) {
    this.#bounds = bounds
    this.#series = new KeyMap((...keys) => {
      return { labels: describe(...keys), buckets: new Float64Array(bounds.length), count: 0, seconds: 0 }
    })
  }

  add(ms: number, ...keys: Keys): void {
    const series = this.#series.getOrCreate(...keys)
    const seconds = ms / 1000
    series.count++
    series.seconds += seconds
    const bucket = this.#bounds.findIndex(bound => seconds <= bound)
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
  }

  format(name: string, help: string, unit?: 's'): Family {
    const samples = this.#series.values.flatMap(({ labels, buckets, count, seconds }) => {
      let sum = 0
      const counted = this.#bounds.map((bound, index) => {
        sum += buckets[index] ?? 0
        return { suffix: '_bucket', labels: { ...labels, le: formatBound(bound) }, value: sum }
      })
      return [
        ...counted,
        { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
        { suffix: '_sum', labels, value: seconds },
        { suffix: '_count', labels, value: count },
      ]
    })
    return { name, type: 'histogram', help, samples, since: this.#since, ...(unit === undefined ? {} : { unit }) }
  }
}

/** Prometheus' canonical form for a bound. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
