import { randomUUID } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Config, HttpReply, HttpRequest, Metric, Plugin } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, isObject } from '../../src/plugin.ts'
import { CallMetrics } from './call-metrics.ts'
import { CONTENT_TYPE, formatExposition } from './exposition.ts'
import { startExport } from './otlp.ts'
import type { Family, Sample, SeriesLabels } from './series.ts'
import { KeyMap } from './series.ts'

type Gate = HttpRequest['gate']
type Health = ReturnType<Gate['health']>
type UpstreamStatus = ReturnType<Gate['status']>['upstreams'][number]

/** Levels of health, the best first. */
const LEVELS = ['ok', 'info', 'warning', 'error']

const LAG_RESOLUTION_MS = 20

const NANOSECONDS = 1e9

interface KnownMetric {
  /** Name without the prefix `tapgate_upstream_` and, for counters, `_total`. */
  readonly name: string
  readonly type: 'counter' | 'gauge'
}

/** Metrics with a special name or type; all others are gauges named after their path. */
const KNOWN: ReadonlyMap<string, KnownMetric> = new Map<string, KnownMetric>([
  ['runtime.restarts', { name: 'restarts', type: 'counter' }],
  ['runtime.inFlight', { name: 'calls_in_flight', type: 'gauge' }],
  ['retries', { name: 'retries', type: 'counter' }],
  ['queue.refused', { name: 'queue_refused', type: 'counter' }],
  ['queue.waiting', { name: 'queue_waiting', type: 'gauge' }],
  ['breaker.opened', { name: 'breaker_opened', type: 'counter' }],
  ...['hits', 'misses', 'stale', 'coalesced', 'evictions', 'purges'].map(
    member => [`cache.${member}`, { name: `cache_${member}`, type: 'counter' }] as const,
  ),
])

/** Reported by other metrics, or not numeric. */
const IGNORED_KEYS: ReadonlySet<string> = new Set([
  'type',
  'problem',
  'pid',
  'era',
  'version',
  'server',
  'lists',
  'offers',
])

/** Times are not exported. */
const TIME_KEY = /(At|Ms)$/

const MAX_DEPTH = 3

/** Collects metrics of each upstream, including all numbers that plugins add to its status. */
function collectUpstreamFamilies(upstreams: readonly UpstreamStatus[]): Family[] {
  const families = new KeyMap((name: string, type: Family['type']) => {
    const help = `${name.replaceAll('_', ' ')} of an upstream`
    return { name: `tapgate_upstream_${name}`, type, help, samples: new Array<Sample>() }
  })
  const addSample: AddSample = (name, type, sample) =>
    void families.getOrCreate(name, type).samples.push(type === 'counter' ? { suffix: '_total', ...sample } : sample)
  for (const status of upstreams) addUpstream(status, addSample)
  return families.values
}

function collectHealthFamilies({ level, findings }: Health): Family[] {
  const counts = new KeyMap((code: string, level: string, upstream: string) => {
    return { labels: { code, level, ...(upstream === '' ? {} : { upstream }) }, value: 0 }
  })
  for (const { code, level, upstream = '' } of findings) counts.getOrCreate(code, level, upstream).value++
  return [
    createGauge(
      'tapgate_health_level',
      'Most severe health finding: 0 ok, 1 info, 2 warning, 3 error.',
      LEVELS.indexOf(level),
    ),
    { name: 'tapgate_health_findings', type: 'gauge', help: 'Health findings by code.', samples: counts.values },
  ]
}

type AddSample = (name: string, type: Family['type'], sample: Sample) => void

function addUpstream(status: UpstreamStatus, add: AddSample): void {
  const { name: upstream, state, dropped = {}, runtime, ...gauges } = status
  add('up', 'gauge', { labels: { upstream }, value: state === 'ready' || state === 'idle' ? 1 : 0 })
  add('state', 'gauge', { labels: { upstream, state }, value: 1 })
  for (const [kind, value] of Object.entries(dropped)) add('dropped', 'counter', { labels: { upstream, kind }, value })
  if (runtime !== undefined) add('instances', 'gauge', { labels: { upstream }, value: runtime.instances.length })
  for (const [key, value] of Object.entries({ runtime, ...gauges }))
    if (!IGNORED_KEYS.has(key)) addValues([key], value, upstream, add)
}

/** Exports each number and boolean below; text under `state` becomes a label. */
function addValues(path: readonly string[], value: unknown, upstream: string, add: AddSample): void {
  const last = path.at(-1) ?? ''
  if (TIME_KEY.test(last)) return
  if (isObject(value) && path.length < MAX_DEPTH)
    for (const [inner, member] of Object.entries(value)) addValues([...path, inner], member, upstream, add)
  else if (last === 'state' && typeof value === 'string')
    add(toSnakeCase(path), 'gauge', { labels: { upstream, state: value }, value: 1 })
  else addFigure(path, typeof value === 'boolean' ? Number(value) : value, upstream, add)
}

function addFigure(path: readonly string[], value: unknown, upstream: string, add: AddSample): void {
  if (typeof value !== 'number' || !Number.isFinite(value)) return
  const { name, type } = KNOWN.get(path.join('.')) ?? { name: toSnakeCase(path), type: 'gauge' }
  add(name, type, { labels: { upstream }, value })
}

/** Converts `inFlight` to `in_flight` and replaces invalid characters by `_`. */
function toSnakeCase(path: readonly string[]): string {
  const words = path.map(word => word.replace(/(?<=[a-z0-9])[A-Z]/g, capital => `_${capital}`))
  return words.join('_').toLowerCase().replace(/\W/g, '_')
}

/** Process metrics with the names that standard Prometheus dashboards use. */
class ProcessMetrics {
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined = undefined
  readonly #startedAt = Date.now() / 1000 - process.uptime()

  start(): void {
    this.#lag ??= monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
    this.#lag.enable()
  }

  stop(): void {
    this.#lag?.disable()
    this.#lag = undefined
  }

  /** Resets the event loop delay. */
  families(): Family[] {
    const { rss, heapUsed, heapTotal } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const p99 = this.#lag === undefined || this.#lag.count === 0 ? 0 : this.#lag.percentile(99) / NANOSECONDS
    this.#lag?.reset()
    return [
      createCounter('process_cpu_seconds', 'CPU time of the process.', (user + system) / 1e6),
      createGauge('process_resident_memory_bytes', 'Resident memory of the process.', rss),
      createGauge('process_start_time_seconds', 'Start time of the process in seconds since 1970.', this.#startedAt),
      createGauge('nodejs_heap_size_used_bytes', 'Used heap.', heapUsed),
      createGauge('nodejs_heap_size_total_bytes', 'Allocated heap.', heapTotal),
      createGauge('nodejs_eventloop_lag_p99_seconds', 'Event loop delay since the last scrape.', p99),
    ]
  }
}

function createGauge(name: string, help: string, value: number): Family {
  return { name, type: 'gauge', help, samples: [{ value }] }
}

function createCounter(name: string, help: string, value: number): Family {
  return { name, type: 'counter', help, samples: [{ suffix: '_total', value }] }
}

/** Client requests with their own series; other methods are counted as `other`. */
const CLIENT_REQUESTS = ['elicitation/create', 'sampling/createMessage', 'roots/list']

interface MetricsState {
  readonly calls: CallMetrics
  readonly clientRequests: KeyMap<[method: string], { readonly labels: SeriesLabels; value: number }>
  refused: number
  /** For scrapes and exports, as each resets the event loop delay. */
  readonly processes: readonly [scraped: ProcessMetrics, exported: ProcessMetrics]
  /** Distinguishes gateways in one process. */
  readonly instance: string
  /** Generations that use this state. */
  owners: number
}

/** Answer to the control verb `metrics`. */
type Figures = ReturnType<Gate['status']> & { readonly health: Health; readonly metrics: readonly Metric[] }

/** Counts requests, serves metrics for Prometheus and sends them to an OpenTelemetry collector. */
export const metrics: Plugin<NonNullable<Config['metrics']>> = {
  name: 'metrics',
  claims: { section: 'metrics', records: true },
  check(config, report) {
    const names = Object.keys(readMap(config, 'listeners'))
    readList(config, 'metrics', 'listeners').forEach((name, i) =>
      checkKnownName(name, { what: 'listener', names, severity: 'warning' }, `/metrics/listeners/${i}`, report),
    )
  },
  setup(api) {
    const { options, hooks, clock, slot, config } = api
    const { path, listeners, tools } = options
    const bounds = [...new Set(options.buckets)].sort((a, b) => a - b)
    // Counters outlive reloads.
    const state = slot.gateway<MetricsState>(() => ({
      calls: new CallMetrics(bounds, tools),
      clientRequests: new KeyMap(method => ({ suffix: '_total', labels: { method }, value: 0 })),
      refused: 0,
      processes: [new ProcessMetrics(), new ProcessMetrics()],
      instance: randomUUID(),
      owners: 0,
    }))
    const { calls, clientRequests, processes } = state
    const [scraped, exported] = processes

    const collect = async (process: ProcessMetrics): Promise<Family[]> =>
      collectFamilies((await api.control('metrics')) as unknown as Figures, state, process)
    let stopExport: ReturnType<typeof startExport> = undefined

    hooks.ready.tap(() => {
      calls.configure(bounds, tools)
      state.owners++
      for (const one of processes) one.start()
      stopExport = startExport(api, () => collect(exported), state.instance)
    })
    hooks.settled.tap(({ record }) => calls.recordCall(record))
    // Innermost, to measure each attempt separately.
    hooks.dispatch.tap({ stage: 'transform' }, (next, upstream) => calls.wrap(next, upstream, clock))
    hooks.sessionEnd.tap(session => calls.recordSession(session, config.listeners[session.name]?.type))
    hooks.auditEvent.tap(({ kind }) => void (kind === 'refused' && state.refused++))
    hooks.clientRequest.tap({ stage: 'trace' }, ({ method }) => {
      clientRequests.getOrCreate(CLIENT_REQUESTS.includes(method) ? method : 'other').value++
    })
    hooks.http.for(path).tap(request => {
      const isMeant = listeners === undefined || listeners.includes(request.listener)
      return isMeant ? replyWithMetrics(request, () => collect(scraped)) : { status: 404 }
    })
    hooks.close.tap(async () => {
      state.owners--
      const lastExport = stopExport?.()
      // After a reload, the next generation exports the same counters.
      if (state.owners > 0) return
      await lastExport
      for (const one of processes) one.stop()
    })
  },
}

async function replyWithMetrics({ method }: HttpRequest, collect: () => Promise<Family[]>): Promise<HttpReply> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  const headers = { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' }
  return { status: 200, headers, body: formatExposition(await collect()) }
}

function collectFamilies(figures: Figures, state: MetricsState, process: ProcessMetrics): Family[] {
  const { calls, clientRequests, refused } = state
  const { upstreams, sessions, running, health, metrics } = figures
  return [
    ...calls.families(),
    createGauge('tapgate_calls_in_flight', 'Client requests in flight.', running),
    createGauge('tapgate_sessions', 'Open sessions.', sessions),
    {
      name: 'tapgate_asks',
      type: 'counter',
      help: 'Requests from servers to clients.',
      samples: clientRequests.values,
    },
    createCounter(
      'tapgate_refused_requests',
      'HTTP requests rejected because authentication failed or was missing.',
      refused,
    ),
    ...collectUpstreamFamilies(upstreams),
    ...collectHealthFamilies(health),
    ...metrics,
    ...process.families(),
  ]
}
