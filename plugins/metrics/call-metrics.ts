import type { Exchange, Metric } from '../../src/plugin.ts'
import { METHODS, getOutcome, OUTCOMES } from '../../src/plugin.ts'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

class ToolCounts {
  readonly counts = new Float64Array(OUTCOMES.length)
}

class CallSeries {
  readonly tools = new Map<string, ToolCounts>()
  readonly buckets: Float64Array
  count = 0
  seconds = 0

  constructor(buckets: number) {
    this.buckets = new Float64Array(buckets)
  }
}

const OUTCOME_INDEX: Readonly<Record<string, number>> = Object.fromEntries(OUTCOMES.map((name, index) => [name, index]))

const OTHER = 'other'

/**
 * Counts calls by method, upstream, tool and outcome. Series are created once; recording is a lookup and an
 * increment.
 */
export class CallMetrics {
  #bounds: readonly number[]
  #maxTools: number
  readonly #lines = new Map<string, Map<string, CallSeries>>()

  /** `bounds` in seconds, ascending. */
  constructor(bounds: readonly number[], mostTools: number) {
    this.#bounds = bounds
    this.#maxTools = mostTools
  }

  /** Applies new settings. Changed bounds reset the histogram, as its counts cannot be converted. */
  configure(bounds: readonly number[], mostTools: number): void {
    this.#maxTools = mostTools
    if (String(bounds) === String(this.#bounds)) return
    this.#bounds = bounds
    this.#lines.clear()
  }

  recordCall(exchange: Exchange, ms: number): void {
    const { route } = exchange
    const method = METHODS.has(exchange.method) ? exchange.method : OTHER
    const line = this.#getSeries(method, route?.to === 'one' ? route.upstream : '')
    const { counts } = this.#getTool(line, getCalledName(exchange))
    const index = OUTCOME_INDEX[getOutcome(exchange)] as number
    counts[index] = (counts[index] as number) + 1
    const seconds = ms / 1000
    line.count++
    line.seconds += seconds
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
    if (bucket < bounds.length) line.buckets[bucket] = (line.buckets[bucket] as number) + 1
  }

  families(): Family[] {
    return [
      {
        name: 'tapgate_calls',
        type: 'counter',
        help: 'Completed client requests.',
        samples: this.#collectCounts(),
      },
      {
        name: 'tapgate_call_duration_seconds',
        type: 'histogram',
        help: 'Duration of client requests.',
        samples: this.#collectDurations(),
      },
    ]
  }

  #getSeries(method: string, upstream: string): CallSeries {
    let byUpstream = this.#lines.get(method)
    if (byUpstream === undefined) this.#lines.set(method, (byUpstream = new Map<string, CallSeries>()))
    let line = byUpstream.get(upstream)
    if (line === undefined) byUpstream.set(upstream, (line = new CallSeries(this.#bounds.length)))
    return line
  }

  #getTool({ tools }: CallSeries, name: string): ToolCounts {
    const existing = tools.get(name)
    if (existing !== undefined) return existing
    const own = name === '' || tools.size < this.#maxTools ? name : OTHER
    const tool = tools.get(own) ?? new ToolCounts()
    tools.set(own, tool)
    return tool
  }

  #collectCounts(): Sample[] {
    const samples: Sample[] = []
    for (const [method, upstream, { tools }] of this.#all())
      for (const [tool, { counts }] of tools)
        counts.forEach((value, index) => {
          const outcome = OUTCOMES[index] ?? ''
          if (value > 0) samples.push({ suffix: '_total', labels: { method, upstream, tool, outcome }, value })
        })
    return samples
  }

  #collectDurations(): Sample[] {
    const samples: Sample[] = []
    for (const [method, upstream, { buckets, count, seconds }] of this.#all()) {
      const labels = { method, upstream }
      let sum = 0
      this.#bounds.forEach((bound, index) => {
        sum += buckets[index] as number
        samples.push({ suffix: '_bucket', labels: { ...labels, le: formatBound(bound) }, value: sum })
      })
      samples.push({ suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count })
      samples.push({ suffix: '_sum', labels, value: seconds }, { suffix: '_count', labels, value: count })
    }
    return samples
  }

  *#all(): Generator<[method: string, upstream: string, line: CallSeries]> {
    for (const [method, byUpstream] of this.#lines)
      for (const [upstream, line] of byUpstream) yield [method, upstream, line]
  }
}

/**
 * Returns the called tool or prompt by its exposed name. Empty without a route, so that clients cannot create series;
 * URIs are too many.
 */
function getCalledName({ params, route }: Exchange): string {
  return route?.to === 'one' && typeof params?.name === 'string' ? params.name : ''
}

/** OpenMetrics requires the canonical float form. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

/** All samples of one metric; a counter's name is without `_total`. */
export type Family = Metric

/** One sample; its suffix is `_total` or `_bucket`, for example. */
export type Sample = Metric['samples'][number]

/** Prometheus exposition formats. */
type Format = 'text' | 'openmetrics'

export function negotiateFormat(accept: readonly string[]): Format {
  return accept.join(',').includes('application/openmetrics-text') ? 'openmetrics' : 'text'
}

/** Formats families that have samples. */
export function formatExposition(families: readonly Family[], format: Format): string {
  let text = ''
  for (const family of families) if (family.samples.length > 0) text += formatFamily(family, format)
  return format === 'openmetrics' ? `${text}# EOF\n` : text
}

function formatFamily({ name, type, help, samples }: Family, format: Format): string {
  // The text format includes `_total` in the counter's name.
  const family = type === 'counter' && format === 'text' ? `${name}_total` : name
  let text = `# HELP ${family} ${escapeText(help, /[\\\n]/g)}\n# TYPE ${family} ${type}\n`
  for (const { suffix = '', labels, value } of samples) text += `${name}${suffix}${formatLabels(labels)} ${value}\n`
  return text
}

function formatLabels(labels: Sample['labels']): string {
  if (labels === undefined) return ''
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(value, /[\\\n"]/g)}"`)
  return `{${pairs.join(',')}}`
}

function escapeText(text: string, special: RegExp): string {
  return text.toWellFormed().replace(special, character => (character === '\n' ? '\\n' : `\\${character}`))
}
