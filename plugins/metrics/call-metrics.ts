import type { Answer, CallRecord, Clock, Dispatch, Metric } from '../../src/plugin.ts'
import { GatewayError, METHODS } from '../../src/plugin.ts'

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const OTHER = 'other'
/** Methods whose target is in the catalog; URIs and task ids are too many. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])
/** Bucket bounds from the OpenTelemetry conventions for MCP, in seconds. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** Maximum error types with their own series; servers choose their codes. */
const MAX_ERRORS = 50
const OTHER_ERROR = '_OTHER'
const TOOL_ERROR = 'tool_error'

/**
 * Counts calls by method, upstream, tool and outcome, and measures them. Includes the OpenTelemetry histograms for MCP:
 * `mcp.server.operation.duration` for client requests and `mcp.client.operation.duration` for attempts at upstreams.
 * Prometheus names use `_` for dots and end with the unit.
 */
export class CallMetrics {
  #bounds: readonly number[]
  #maxTools: number
  #durations: Histogram
  readonly #counts = new SeriesMap(['method', 'upstream', 'tool', 'outcome'], () => ({ value: 0 }))
  readonly #requests = new Histogram(['mcp_method_name', 'error_type'], BOUNDS)
  readonly #attempts = new Histogram(['mcp_method_name', 'error_type'], BOUNDS)
  readonly #labels = new Map<string, Set<string>>()

  /** `bounds` in seconds, ascending. */
  constructor(bounds: readonly number[], maxTools: number) {
    this.#bounds = bounds
    this.#maxTools = maxTools
    this.#durations = new Histogram(['method', 'upstream'], bounds)
  }

  /** Applies new settings. Changed bounds reset the histogram. */
  configure(bounds: readonly number[], maxTools: number): void {
    this.#maxTools = maxTools
    if (String(bounds) === String(this.#bounds)) return
    this.#bounds = bounds
    this.#durations = new Histogram(['method', 'upstream'], bounds)
  }

  recordCall({ method: called, upstream, name, outcome, code, ms }: CallRecord): void {
    const method = METHODS.has(called) ? called : OTHER
    // Unknown names are omitted, so that clients cannot create series.
    const named = upstream !== '' && NAMED.has(method) ? name : ''
    const tool = this.#limitLabel(`${method} ${upstream}`, named, this.#maxTools, OTHER)
    this.#counts.get(method, upstream, tool, outcome).value++
    this.#durations.add(ms, method, upstream)
    this.#addOperation(this.#requests, method, outcome === 'is_error' ? TOOL_ERROR : String(code || ''), ms)
  }

  /** Wraps dispatch to measure each attempt. */
  wrap(next: Dispatch, clock: Clock): Dispatch {
    return call => {
      const began = clock.now()
      const method = METHODS.has(call.method) ? call.method : OTHER
      const record = (type: string): void => this.#addOperation(this.#attempts, method, type, clock.now() - began)
      return next(call).then(
        answer => {
          record(getErrorType(answer))
          return answer
        },
        (error: unknown) => {
          record(error instanceof GatewayError ? error.code : OTHER_ERROR)
          throw error
        },
      )
    }
  }

  #addOperation(histogram: Histogram, method: string, errorType: string, ms: number): void {
    const type = this.#limitLabel(method, errorType, MAX_ERRORS, OTHER_ERROR)
    histogram.add(ms, method, type === '' ? undefined : type)
  }

  /** Returns a label's value, or `other` if the group has `max` values already, because peers choose them. */
  #limitLabel(group: string, value: string, max: number, other: string): string {
    let values = this.#labels.get(group)
    if (values === undefined) this.#labels.set(group, (values = new Set()))
    if (value === '' || values.has(value)) return value
    if (values.size >= max) return other
    values.add(value)
    return value
  }

  families(): Family[] {
    const counts = [...this.#counts].map(([labels, { value }]) => ({ suffix: '_total', labels, value }))
    return [
      { name: 'tapgate_calls', type: 'counter', help: 'Completed client requests.', samples: counts },
      this.#durations.format('tapgate_call_duration_seconds', 'Duration of client requests.'),
      this.#requests.format('mcp_server_operation_duration_seconds', 'Duration of client requests at the gateway.'),
      this.#attempts.format('mcp_client_operation_duration_seconds', 'Duration of request attempts at an upstream.'),
    ]
  }
}

/** Returns `error.type`; empty on success. */
function getErrorType(answer: Answer): string {
  if ('error' in answer) return String(answer.error.code)
  return 'result' in answer && answer.result.isToolError ? TOOL_ERROR : ''
}

type SeriesLabels = Readonly<Record<string, string>>

/** Series by label values, created once. */
class SeriesMap<T> {
  readonly #names: readonly string[]
  readonly #create: () => T
  readonly #series = new Map<string, readonly [labels: SeriesLabels, series: T]>()

  constructor(names: readonly string[], create: () => T) {
    this.#names = names
    this.#create = create
  }

  /** Omits labels without a value. */
  get(...values: readonly (string | undefined)[]): T {
    const key = values.join('\0')
    let entry = this.#series.get(key)
    if (entry === undefined) {
      const labels = this.#names.flatMap((name, at) => (values[at] === undefined ? [] : [[name, values[at]] as const]))
      entry = [Object.fromEntries(labels), this.#create()]
      this.#series.set(key, entry)
    }
    return entry[1]
  }

  [Symbol.iterator](): Iterator<readonly [labels: SeriesLabels, series: T]> {
    return this.#series.values()
  }
}

class Histogram {
  readonly #bounds: readonly number[]
  readonly #series: SeriesMap<{ readonly buckets: Float64Array; count: number; seconds: number }>

  constructor(labels: readonly string[], bounds: readonly number[]) {
    this.#bounds = bounds
    this.#series = new SeriesMap(labels, () => ({ buckets: new Float64Array(bounds.length), count: 0, seconds: 0 }))
  }

  add(ms: number, ...labels: readonly (string | undefined)[]): void {
    const series = this.#series.get(...labels)
    const seconds = ms / 1000
    series.count++
    series.seconds += seconds
    const bucket = this.#bounds.findIndex(bound => seconds <= bound)
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
  }

  format(name: string, help: string): Family {
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
    return { name, type: 'histogram', help, samples }
  }
}

/** Prometheus' canonical form for a bound. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

/** All samples of one metric; a counter's name is without `_total`. */
export type Family = Metric

/** One sample; its suffix is `_total` or `_bucket`, for example. */
export type Sample = Metric['samples'][number]

/** Formats families that have samples in the text format of Prometheus. */
export function formatExposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(formatFamily)
    .join('')
}

function formatFamily({ name, type, help, samples }: Family): string {
  const family = type === 'counter' ? `${name}_total` : name
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
