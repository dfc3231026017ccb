import { hostname } from 'node:os'
import { parse } from 'node:querystring'
import type { Config, JsonObject, PluginApi } from '../../src/plugin.ts'
import { getErrorMessage, parseDuration } from '../../src/plugin.ts'
import type { Family, Sample, SeriesLabels } from './series.ts'

/** Environment variables; empty ones count as unset. */
type Variables = Readonly<Record<string, string | undefined>>

/** Maximum wait for the collector at shutdown. */
const CLOSE_TIMEOUT_MS = 2000
const DEFAULT_INTERVAL_MS = 60_000
const DEFAULT_ENDPOINT = 'http://localhost:4318'
const VARIABLES = [
  ...['METRICS_ENDPOINT', 'ENDPOINT', 'METRICS_HEADERS', 'HEADERS'].map(name => `OTEL_EXPORTER_OTLP_${name}`),
  ...['OTEL_METRICS_EXPORTER', 'OTEL_METRIC_EXPORT_INTERVAL', 'OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'],
]

/**
 * Sends all metrics to an OpenTelemetry collector, periodically and when the returned function stops it. Returns
 * undefined if this is off.
 */
export function startExport(
  { options: { otlp }, config, programs, clock, fetch, log }: PluginApi<NonNullable<Config['metrics']>>,
  collect: () => Promise<Family[]>,
): (() => Promise<void>) | undefined {
  const variables: Variables = programs.createEnvironment(VARIABLES, {})
  if (otlp === undefined && !/\botlp\b/.test(variables.OTEL_METRICS_EXPORTER ?? '')) return undefined
  const url = resolveUrl(otlp?.endpoint, variables)
  const { OTEL_EXPORTER_OTLP_METRICS_HEADERS: own, OTEL_EXPORTER_OTLP_HEADERS: shared } = variables
  const given = otlp?.headers ?? { ...parsePairs(shared), ...parsePairs(own) }
  const headers = { 'content-type': 'application/json', ...given }
  const resource = createResource(config, variables)
  const every = otlp?.every ?? `${Number(variables.OTEL_METRIC_EXPORT_INTERVAL) || DEFAULT_INTERVAL_MS}ms`
  let hasFailed = false
  let cancel: (() => void) | undefined

  const send = async (timeoutMs?: number): Promise<string | undefined> => {
    const body = JSON.stringify(formatOtlp(await collect(), resource))
    const { ok, status } = await fetch(url, { namedBy: url, method: 'POST', headers, body, timeoutMs })
    return ok ? undefined : `HTTP ${status}`
  }
  /** Logs only the first failure in a row. Values are cumulative, so the next export makes up for a failed one. */
  const sendOrLog = async (timeoutMs?: number): Promise<void> => {
    const reason = await send(timeoutMs).catch(getErrorMessage)
    if (reason !== undefined && !hasFailed) log.warn('metric export failed', { reason })
    hasFailed = reason !== undefined
  }
  const schedule = (): void => {
    cancel = clock.after(parseDuration(every), () => void sendOrLog().then(() => cancel && schedule()))
  }
  schedule()
  return async () => {
    cancel?.()
    cancel = undefined
    await sendOrLog(CLOSE_TIMEOUT_MS)
  }
}

function resolveUrl(endpoint: string | undefined, variables: Variables): string {
  const { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: exact, OTEL_EXPORTER_OTLP_ENDPOINT: base } = variables
  if (endpoint === undefined && exact) return exact
  return (endpoint ?? (base || DEFAULT_ENDPOINT)).replace(/(\/v1\/metrics)?\/*$/, '/v1/metrics')
}

function createResource({ server: { name, version = '' } }: Config, variables: Variables): SeriesLabels {
  const { OTEL_SERVICE_NAME: service, OTEL_RESOURCE_ATTRIBUTES: attributes } = variables
  return {
    ...{ 'service.name': name, 'service.version': version, 'service.instance.id': `${hostname()}:${process.pid}` },
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
  const times = { startTimeUnixNano: toNanoseconds(performance.timeOrigin), timeUnixNano: toNanoseconds(Date.now()) }
  const metrics = families.flatMap(({ name, help: description, unit, type, samples }) =>
    samples.length === 0 ? [] : [{ name, description, unit, ...formatData(type, samples, times) }],
  )
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
