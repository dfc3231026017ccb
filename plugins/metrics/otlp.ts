import { hostname } from 'node:os'
import { parse } from 'node:querystring'
import type { Config, JsonObject, Log, PluginApi } from '../../src/plugin.ts'
import { getErrorMessage, parseDuration, readMap } from '../../src/plugin.ts'
import type { Family, Sample, SeriesLabels } from './series.ts'

/** Environment variables; empty ones count as unset. */
type Variables = Readonly<Record<string, string | undefined>>

/** Maximum wait for the collector at shutdown. */
const CLOSE_TIMEOUT_MS = 2000
const DEFAULT_INTERVAL_MS = 60_000
const MIN_INTERVAL_MS = 1000
const DEFAULT_ENDPOINT = 'http://localhost:4318'
const VARIABLES = [
  ...['SDK_DISABLED', 'METRICS_EXPORTER', 'METRIC_EXPORT_INTERVAL', 'SERVICE_NAME', 'RESOURCE_ATTRIBUTES'],
  ...['ENDPOINT', 'HEADERS', 'PROTOCOL'].flatMap(name => [`EXPORTER_OTLP_METRICS_${name}`, `EXPORTER_OTLP_${name}`]),
].map(name => `OTEL_${name}`)

/**
 * Sends all metrics to an OpenTelemetry collector, periodically and when the returned function stops it. Returns
 * undefined if this is off.
 */
export function startExport(
  { options: { otlp }, config, programs, clock, fetch, log }: PluginApi<NonNullable<Config['metrics']>>,
  collect: () => Promise<Family[]>,
  instance: string,
): (() => Promise<void>) | undefined {
  const variables: Variables = programs.createEnvironment(VARIABLES, {})
  if (!isOn(otlp, variables)) return undefined
  const { endpoint, every, headers: configured } = otlp ?? {}
  const url = resolveUrl(endpoint, variables, log)
  if (url === undefined) return undefined
  if (endpoint === undefined && isGrpc(variables))
    log.warn('metrics are exported by HTTP, usually to port 4318, because gRPC is not supported')
  const { OTEL_EXPORTER_OTLP_METRICS_HEADERS: own, OTEL_EXPORTER_OTLP_HEADERS: shared } = variables
  const given = configured ?? { ...parsePairs(shared), ...parsePairs(own) }
  const headers = { 'content-type': 'application/json', ...omitInvalidHeaders(given, log) }
  const resource = createResource(instance, config, variables)
  const everyMs = every === undefined ? resolveInterval(variables, log) : parseDuration(every)
  let hasFailed = false
  let cancel: (() => void) | undefined

  const send = async (timeoutMs?: number): Promise<string | undefined> => {
    const body = JSON.stringify(formatOtlp(await collect(), resource))
    const reply = await fetch(url, { namedBy: url, method: 'POST', headers, body, timeoutMs })
    if (!reply.ok) return `HTTP ${reply.status}`
    const { rejectedDataPoints: count, errorMessage } = readMap(await reply.json().catch(() => ({})), 'partialSuccess')
    return Number(count) > 0 ? `collector rejected ${String(count)} values: ${String(errorMessage)}` : undefined
  }
  /** Logs only the first failure in a row. Values are cumulative, so the next export makes up for a failed one. */
  const sendOrLog = async (timeoutMs?: number): Promise<void> => {
    const reason = await send(timeoutMs).catch(getErrorMessage)
    if (reason !== undefined && !hasFailed) log.warn('metric export failed', { reason })
    hasFailed = reason !== undefined
  }
  const schedule = (): void => {
    cancel = clock.after(everyMs, () => void sendOrLog().then(() => cancel && schedule()))
  }
  schedule()
  return async () => {
    cancel?.()
    cancel = undefined
    await sendOrLog(CLOSE_TIMEOUT_MS)
  }
}

function isOn(otlp: object | undefined, variables: Variables): boolean {
  const { OTEL_SDK_DISABLED: disabled = '', OTEL_METRICS_EXPORTER: exporter = '' } = variables
  return disabled.toLowerCase() !== 'true' && (otlp !== undefined || /\botlp\b/.test(exporter))
}

function isGrpc({ OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: own, OTEL_EXPORTER_OTLP_PROTOCOL: base }: Variables): boolean {
  return (own || base) === 'grpc'
}

function resolveUrl(endpoint: string | undefined, variables: Variables, log: Log): URL | undefined {
  const { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: exact, OTEL_EXPORTER_OTLP_ENDPOINT: base } = variables
  const url = URL.parse(endpoint ?? (exact || base || DEFAULT_ENDPOINT))
  if (url === null || !/^https?:$/.test(url.protocol))
    return void log.warn('metrics are not exported: the OTLP endpoint needs http:// or https://')
  if (endpoint !== undefined || !exact) url.pathname = url.pathname.replace(/(\/v1\/metrics)?\/*$/, '/v1/metrics')
  return url
}

/** Omits invalid headers. Logs no value, and of a name only the start, as `name: secret` may have been given. */
function omitInvalidHeaders(headers: SeriesLabels, log: Log): SeriesLabels {
  const valid = Object.entries(headers).filter(([name, value]) => {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return true
    log.warn('invalid header for the metrics collector is not sent', { header: name.replace(/[^\w-].*$/s, '') })
    return false
  })
  return Object.fromEntries(valid)
}

function resolveInterval({ OTEL_METRIC_EXPORT_INTERVAL: text }: Variables, log: Log): number {
  const ms = Number(text || DEFAULT_INTERVAL_MS)
  if (Number.isSafeInteger(ms) && ms >= MIN_INTERVAL_MS) return parseDuration(ms)
  log.warn('OTEL_METRIC_EXPORT_INTERVAL needs a number of milliseconds, at least 1000; 60000 is used', { value: text })
  return DEFAULT_INTERVAL_MS
}

function createResource(id: string, { server: { name, version = '' } }: Config, variables: Variables): SeriesLabels {
  const { OTEL_SERVICE_NAME: service, OTEL_RESOURCE_ATTRIBUTES: attributes } = variables
  return {
    ...{ 'service.name': name, 'service.version': version, 'service.instance.id': id, 'host.name': hostname() },
    ...parsePairs(attributes),
    ...(service ? { 'service.name': service } : {}),
  }
}

/** Parses `name=value,…` with percent-encoded values. */
function parsePairs(text = ''): SeriesLabels {
  const pairs = parse(text.replaceAll('+', '%2B').replace(/\s*,\s*/g, ','), ',', '=')
  return Object.fromEntries(Object.entries(pairs).map(([name, value]) => [name, String(value)]))
}

const CUMULATIVE = 2

/** Formats metrics for OTLP over HTTP, in its JSON form. */
function formatOtlp(families: readonly Family[], resource: SeriesLabels): JsonObject {
  const timeUnixNano = toNanoseconds(Date.now())
  const metrics = families.flatMap(({ name, help: description, unit, type, samples, since }) => {
    const times = { startTimeUnixNano: toNanoseconds(since ?? performance.timeOrigin), timeUnixNano }
    return samples.length === 0 ? [] : [{ name, description, unit, ...formatData(type, samples, times) }]
  })
  const attributes = formatAttributes(resource)
  return { resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ scope: { name: 'tapgate' }, metrics }] }] }
}

function formatData(type: Family['type'], samples: readonly Sample[], times: object): JsonObject {
  if (type === 'histogram')
    return { histogram: { aggregationTemporality: CUMULATIVE, dataPoints: formatHistogram(samples, times) } }
  const dataPoints = samples.map(({ labels = {}, value: asDouble }) => {
    return { attributes: formatAttributes(labels), ...times, asDouble }
  })
  if (type === 'gauge') return { gauge: { dataPoints } }
  return { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
}

function formatHistogram(samples: readonly Sample[], times: object): JsonObject[] {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...labels } = {} }) =>
    JSON.stringify(formatAttributes(labels)),
  )
  return [...series].map(([attributes, own]) => {
    const buckets = own.filter(({ suffix }) => suffix === '_bucket')
    const counts = buckets.map(({ value }) => value)
    return {
      attributes: JSON.parse(attributes) as unknown,
      ...times,
      explicitBounds: buckets.slice(0, -1).map(({ labels }) => Number(labels?.le)),
      bucketCounts: counts.map((count, index) => String(count - (counts[index - 1] ?? 0))),
      sum: own.find(({ suffix }) => suffix === '_sum')?.value,
      count: String(counts.at(-1)),
    }
  })
}

function formatAttributes(labels: SeriesLabels): JsonObject[] {
  return Object.entries(labels).map(([key, value]) => {
    return { key, value: key === 'server.port' ? { intValue: value } : { stringValue: value } }
  })
}

function toNanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`
}
