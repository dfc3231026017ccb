import {
  isKnown,
  listAt,
  mapAt,
  type Config,
  type HttpReply,
  type HttpRequest,
  type Plugin,
} from '../../src/plugin.ts'
import { Calls, CONTENT_TYPES, exposition, formatFor, type Family } from './calls.ts'
import { Operations } from './operation-durations.ts'
import { gauge, healthFamilies, ProcessFigures, upstreamFamilies } from './upstreams.ts'

/** Requests that servers may make of clients; a method of their own invention is counted as one of the others. */
const ASKS = ['elicitation/create', 'sampling/createMessage', 'roots/list']

interface Kept {
  readonly calls: Calls
  readonly operations: Operations
  readonly asks: Map<string, number>
  refused: number
  readonly process: ProcessFigures
  /** Generations that use it. */
  owners: number
}

/** Counts what is called and what comes of it, and serves the figures for Prometheus. */
export const metrics: Plugin<NonNullable<Config['metrics']>> = {
  name: 'metrics',
  claims: { section: 'metrics' },
  check(config, report) {
    const names = Object.keys(mapAt(config, 'listeners'))
    listAt(config, 'metrics', 'listeners').forEach((name, i) =>
      isKnown(name, { what: 'listener', names, severity: 'warning' }, `/metrics/listeners/${i}`, report),
    )
  },
  setup({ options, hooks, clock, slot }) {
    const { path, listeners, tools } = options
    const bounds = [...new Set(options.buckets)].sort((a, b) => a - b)
    // Counters go on through reloads.
    const kept = slot.gateway<Kept>(() => ({
      calls: new Calls(bounds, tools),
      operations: new Operations(),
      asks: new Map(),
      refused: 0,
      process: new ProcessFigures(Date.now() / 1000 - process.uptime()),
      owners: 0,
    }))
    const { calls, operations, asks } = kept

    hooks.ready.tap(() => {
      calls.adopt(bounds, tools)
      kept.owners++
      kept.process.start()
    })
    hooks.settled.tap(exchange => {
      const ms = clock.now() - exchange.startedAt
      calls.add(exchange, ms)
      operations.settled(exchange, ms)
    })
    // Innermost, so that each try of a call is one.
    hooks.dispatch.tap({ stage: 'transform' }, next => operations.wrap(next, clock))
    hooks.refused.tap(() => void kept.refused++)
    hooks.clientRequest.tap({ stage: 'trace' }, ({ method }) => {
      const known = ASKS.includes(method) ? method : 'other'
      asks.set(known, (asks.get(known) ?? 0) + 1)
    })
    hooks.http.for(path).tap(request => {
      const isMeant = listeners === undefined || listeners.includes(request.listener)
      return isMeant ? reply(request, () => families(request, kept)) : { status: 404 }
    })
    hooks.close.tap(() => {
      kept.owners--
      if (kept.owners <= 0) kept.process.stop()
    })
  },
}

function reply({ method, header }: HttpRequest, found: () => Family[]): HttpReply {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  const format = formatFor(header('accept'))
  const headers = { 'content-type': CONTENT_TYPES[format], 'cache-control': 'no-store' }
  return { status: 200, headers, body: exposition(found(), format) }
}

function families({ gate }: HttpRequest, { calls, operations, asks, refused, process }: Kept): Family[] {
  const { upstreams, sessions, running } = gate.status()
  return [
    ...calls.families(),
    ...operations.families(),
    gauge('tapgate_calls_in_flight', 'Requests that are not answered yet.', running),
    gauge('tapgate_sessions', 'Conversations that are open.', sessions),
    {
      name: 'tapgate_asks',
      type: 'counter',
      help: 'What servers asked of clients.',
      samples: [...asks].map(([method, value]) => ({ suffix: '_total', labels: { method }, value })),
    },
    {
      name: 'tapgate_refused_requests',
      type: 'counter',
      help: 'HTTP requests whose sender was not let in.',
      samples: [{ suffix: '_total', value: refused }],
    },
    ...upstreamFamilies(upstreams),
    ...healthFamilies(gate.health()),
    ...gate.figures(),
    ...process.families(),
  ]
}
