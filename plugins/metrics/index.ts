import type {
  Answer,
  Clock,
  Config,
  Dispatch,
  Exchange,
  Metric,
  HttpReply,
  HttpRequest,
  Plugin,
} from '../../src/plugin.ts'
import { GatewayError, checkKnownName, readList, readMap, METHODS } from '../../src/plugin.ts'
import type { Family } from './call-metrics.ts'
import { CallMetrics, CONTENT_TYPES, formatExposition, negotiateFormat } from './call-metrics.ts'
import { createGauge, collectHealthFamilies, ProcessMetrics, collectUpstreamFamilies } from './upstreams.ts'

/** Bucket bounds from the OpenTelemetry conventions for MCP, in seconds. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const OTHER = 'other'
/** Maximum error types with their own series; servers choose their codes. */
const MAX_ERRORS = 50
const OTHER_ERROR = '_OTHER'
const TOOL_ERROR = 'tool_error'

interface DurationSeries {
  readonly buckets: Float64Array
  count: number
  seconds: number
}

/**
 * The OpenTelemetry histograms for MCP: `mcp.server.operation.duration` for client requests and
 * `mcp.client.operation.duration` for attempts at upstreams. Prometheus names use `_` for dots and end with the unit.
 */
class OperationMetrics {
  readonly #server = new Histogram()
  readonly #client = new Histogram()

  recordRequest({ method, answer }: Exchange, ms: number): void {
    this.#server.recordDuration(method, getErrorType(answer), ms)
  }

  /** Wraps dispatch to measure each attempt. */
  wrap(next: Dispatch, clock: Clock): Dispatch {
    return call => {
      const { method } = call
      const began = clock.now()
      return next(call).then(
        answer => {
          this.#client.recordDuration(method, getErrorType(answer), clock.now() - began)
          return answer
        },
        (error: unknown) => {
          const type = error instanceof GatewayError ? error.code : OTHER_ERROR
          this.#client.recordDuration(method, type, clock.now() - began)
          throw error
        },
      )
    }
  }

  families(): Metric[] {
    return [
      {
        name: 'mcp_server_operation_duration_seconds',
        type: 'histogram',
        help: 'Duration of client requests at the gateway.',
        samples: this.#server.samples(),
      },
      {
        name: 'mcp_client_operation_duration_seconds',
        type: 'histogram',
        help: 'Duration of request attempts at an upstream.',
        samples: this.#client.samples(),
      },
    ]
  }
}

class Histogram {
  readonly #lines = new Map<string, Map<string, DurationSeries>>()

  recordDuration(method: string, errorType: string, ms: number): void {
    const line = this.#getSeries(METHODS.has(method) ? method : OTHER, errorType)
    const seconds = ms / 1000
    line.count++
    line.seconds += seconds
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
    if (bucket < BOUNDS.length) line.buckets[bucket] = (line.buckets[bucket] as number) + 1
  }

  #getSeries(method: string, errorType: string): DurationSeries {
    let byError = this.#lines.get(method)
    if (byError === undefined) this.#lines.set(method, (byError = new Map<string, DurationSeries>()))
    const type = byError.has(errorType) || byError.size < MAX_ERRORS ? errorType : OTHER_ERROR
    let line = byError.get(type)
    if (line === undefined) {
      line = { buckets: new Float64Array(BOUNDS.length), count: 0, seconds: 0 }
      byError.set(type, line)
    }
    return line
  }

  samples(): Metric['samples'] {
    return [...this.#lines].flatMap(([method, byError]) =>
      [...byError].flatMap(([errorType, line]) => formatSamples(line, method, errorType)),
    )
  }
}

function formatSamples(
  { buckets, count, seconds }: DurationSeries,
  method: string,
  errorType: string,
): Metric['samples'] {
  const labels: Record<string, string> = { mcp_method_name: method }
  if (errorType !== '') labels.error_type = errorType
  let sum = 0
  const counted = BOUNDS.map((bound, index) => {
    sum += buckets[index] as number
    const le = Number.isInteger(bound) ? `${bound}.0` : String(bound)
    return { suffix: '_bucket', labels: { ...labels, le }, value: sum }
  })
  return [
    ...counted,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: seconds },
    { suffix: '_count', labels, value: count },
  ]
}

/** Returns `error.type`; empty on success. */
function getErrorType(answer: Answer | undefined): string {
  if (answer === undefined) return OTHER_ERROR
  if ('error' in answer) return String(answer.error.code)
  return 'result' in answer && answer.result.isToolError ? TOOL_ERROR : ''
}

/** Client requests with their own series; other methods are counted as `other`. */
const CLIENT_REQUESTS = ['elicitation/create', 'sampling/createMessage', 'roots/list']

interface MetricsState {
  readonly calls: CallMetrics
  readonly operations: OperationMetrics
  readonly clientRequests: Map<string, number>
  refused: number
  readonly process: ProcessMetrics
  /** Generations that use this state. */
  owners: number
}

/** Counts requests and serves metrics for Prometheus. */
export const metrics: Plugin<NonNullable<Config['metrics']>> = {
  name: 'metrics',
  claims: { section: 'metrics' },
  check(config, report) {
    const names = Object.keys(readMap(config, 'listeners'))
    readList(config, 'metrics', 'listeners').forEach((name, i) =>
      checkKnownName(name, { what: 'listener', names, severity: 'warning' }, `/metrics/listeners/${i}`, report),
    )
  },
  setup({ options, hooks, clock, slot }) {
    const { path, listeners, tools } = options
    const bounds = [...new Set(options.buckets)].sort((a, b) => a - b)
    // Counters outlive reloads.
    const state = slot.gateway<MetricsState>(() => ({
      calls: new CallMetrics(bounds, tools),
      operations: new OperationMetrics(),
      clientRequests: new Map(),
      refused: 0,
      process: new ProcessMetrics(Date.now() / 1000 - process.uptime()),
      owners: 0,
    }))
    const { calls, operations, clientRequests } = state

    hooks.ready.tap(() => {
      calls.configure(bounds, tools)
      state.owners++
      state.process.start()
    })
    hooks.settled.tap(exchange => {
      const ms = clock.now() - exchange.startedAt
      calls.recordCall(exchange, ms)
      operations.recordRequest(exchange, ms)
    })
    // Innermost, to measure each attempt separately.
    hooks.dispatch.tap({ stage: 'transform' }, next => operations.wrap(next, clock))
    hooks.refused.tap(() => void state.refused++)
    hooks.clientRequest.tap({ stage: 'trace' }, ({ method }) => {
      const label = CLIENT_REQUESTS.includes(method) ? method : 'other'
      clientRequests.set(label, (clientRequests.get(label) ?? 0) + 1)
    })
    hooks.http.for(path).tap(request => {
      const isMeant = listeners === undefined || listeners.includes(request.listener)
      return isMeant ? replyWithMetrics(request, () => collectFamilies(request, state)) : { status: 404 }
    })
    hooks.close.tap(() => {
      state.owners--
      if (state.owners <= 0) state.process.stop()
    })
  },
}

function replyWithMetrics({ method, header }: HttpRequest, getFamilies: () => Family[]): HttpReply {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  const format = negotiateFormat(header('accept'))
  const headers = { 'content-type': CONTENT_TYPES[format], 'cache-control': 'no-store' }
  return { status: 200, headers, body: formatExposition(getFamilies(), format) }
}

function collectFamilies(
  { gate }: HttpRequest,
  { calls, operations, clientRequests, refused, process }: MetricsState,
): Family[] {
  const { upstreams, sessions, running } = gate.status()
  return [
    ...calls.families(),
    ...operations.families(),
    createGauge('tapgate_calls_in_flight', 'Client requests in flight.', running),
    createGauge('tapgate_sessions', 'Open sessions.', sessions),
    {
      name: 'tapgate_asks',
      type: 'counter',
      help: 'Requests from servers to clients.',
      samples: [...clientRequests].map(([method, value]) => ({
        suffix: '_total',
        labels: { method },
        value,
      })),
    },
    {
      name: 'tapgate_refused_requests',
      type: 'counter',
      help: 'HTTP requests rejected because authentication failed or was missing.',
      samples: [{ suffix: '_total', value: refused }],
    },
    ...collectUpstreamFamilies(upstreams),
    ...collectHealthFamilies(gate.health()),
    ...gate.getMetrics(),
    ...process.families(),
  ]
}
