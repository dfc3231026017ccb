import type { Metric } from '../../src/plugin.ts'

/** All samples of one metric; a counter's name is without `_total`. Prometheus names have `_` for dots. */
export interface Family extends Metric {
  /** Seconds; added to Prometheus names. */
  readonly unit?: 's'
}

/** One sample; its suffix is `_total` or `_bucket`, for example. */
export type Sample = Metric['samples'][number]

export type SeriesLabels = Readonly<Record<string, string>>

/** Series by label values, created once. */
export class SeriesMap<Values extends readonly string[], T> {
  readonly #describe: (...values: Values) => SeriesLabels
  readonly #create: () => T
  readonly #series = new Map<string, readonly [labels: SeriesLabels, series: T]>()

  constructor(describe: (...values: Values) => SeriesLabels, create: () => T) {
    this.#describe = describe
    this.#create = create
  }

  get(...values: Values): T {
    const key = values.join('\0')
    let entry = this.#series.get(key)
    if (entry === undefined) this.#series.set(key, (entry = [this.#describe(...values), this.#create()]))
    return entry[1]
  }

  [Symbol.iterator](): Iterator<readonly [labels: SeriesLabels, series: T]> {
    return this.#series.values()
  }
}

export class Histogram<Values extends readonly string[]> {
  readonly #bounds: readonly number[]
  readonly #series: SeriesMap<Values, { readonly buckets: Float64Array; count: number; seconds: number }>

  constructor(describe: (...values: Values) => SeriesLabels, bounds: readonly number[]) {
    this.#bounds = bounds
    this.#series = new SeriesMap(describe, () => ({ buckets: new Float64Array(bounds.length), count: 0, seconds: 0 }))
  }

  add(ms: number, ...values: Values): void {
    const series = this.#series.get(...values)
    const seconds = ms / 1000
    series.count++
    series.seconds += seconds
    const bucket = this.#bounds.findIndex(bound => seconds <= bound)
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
  }

  format(name: string, help: string, unit?: 's'): Family {
    const samples = [...this.#series].flatMap(([labels, { buckets, count, seconds }]) => {
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
    return { name, type: 'histogram', help, samples, ...(unit === undefined ? {} : { unit }) }
  }
}

/** Prometheus' canonical form for a bound. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
