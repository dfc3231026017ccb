import type { Config, HttpReply, HttpRequest, Plugin } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap } from '../../src/plugin.ts'
import type { Family } from './call-metrics.ts'
import { CallMetrics, CONTENT_TYPES, formatExposition, negotiateFormat } from './call-metrics.ts'
import { createGauge, collectHealthFamilies, ProcessMetrics, collectUpstreamFamilies } from './upstreams.ts'

/** Client requests with their own series; other methods are counted as `other`. */
const CLIENT_REQUESTS = ['elicitation/create', 'sampling/createMessage', 'roots/list']

interface MetricsState {
  readonly calls: CallMetrics
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
      clientRequests: new Map(),
      refused: 0,
      process: new ProcessMetrics(Date.now() / 1000 - process.uptime()),
      owners: 0,
    }))
    const { calls, clientRequests } = state

    hooks.ready.tap(() => {
      calls.configure(bounds, tools)
      state.owners++
      state.process.start()
    })
    hooks.settled.tap(({ record }) => calls.recordCall(record))
    // Innermost, to measure each attempt separately.
    hooks.dispatch.tap({ stage: 'transform' }, next => calls.wrap(next, clock))
    hooks.auditEvent.tap(({ kind }) => void (kind === 'refused' && state.refused++))
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

function collectFamilies({ gate }: HttpRequest, { calls, clientRequests, refused, process }: MetricsState): Family[] {
  const { upstreams, sessions, running } = gate.status()
  return [
    ...calls.families(),
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
