import type { Config } from '../../src/plugin.ts'
import { parseDuration, decodePercent } from '../../src/plugin.ts'
import type { TraceContext } from './trace-context.ts'

type TracingOptions = NonNullable<Config['tracing']>
type Variables = Readonly<Record<string, string | undefined>>

/** OpenTelemetry variables, used for missing settings. */
export const VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_COMPRESSION',
  'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
] as const

type Compression = NonNullable<TracingOptions['compression']>

export interface TracingSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: Compression
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  readonly ratio: number
}

const PATH = '/v1/traces'
const DEFAULT_ENDPOINT = 'http://localhost:4318'
const TIMEOUT_MS = 10_000

/** Resolves settings from the configuration, then from variables. @throws Error for an invalid value */
export function parseTracingSettings(options: TracingOptions, variables: Variables, service: string): TracingSettings {
  return {
    url: resolveUrl(options.endpoint, variables),
    headers: resolveHeaders(options.headers, variables),
    timeoutMs: resolveTimeout(options.timeout, variables.OTEL_EXPORTER_OTLP_TIMEOUT),
    compression: resolveCompression(options.compression, variables),
    resource: resolveResource(options, variables, service),
    ...resolveSampler(options, variables),
  }
}

/** Resolves the traces URL: the variable for traces is used unchanged, others get the path. */
function resolveUrl(endpoint: string | undefined, variables: Variables): string {
  const own = variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  if (endpoint === undefined && isGiven(own)) return checkUrl(own, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const general = variables.OTEL_EXPORTER_OTLP_ENDPOINT
  const base = endpoint ?? (isGiven(general) ? general : DEFAULT_ENDPOINT)
  const from = endpoint === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'tracing.endpoint'
  const url = new URL(checkUrl(base, from))
  if (!url.pathname.endsWith(PATH)) url.pathname = `${url.pathname.replace(/\/+$/, '')}${PATH}`
  return url.href
}

function checkUrl(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
  throw new Error(`${from} must be an http or https URL`)
}

function resolveHeaders(headers: TracingOptions['headers'], variables: Variables): Readonly<Record<string, string>> {
  if (headers !== undefined) return lowerCaseNames(Object.entries(headers))
  const text = variables.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? variables.OTEL_EXPORTER_OTLP_HEADERS ?? ''
  return lowerCaseNames(parsePairs(text))
}

function lowerCaseNames(pairs: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries([...pairs].map(([name, value]) => [name.toLowerCase(), value]))
}

/** Parses `a=1,b=2`, percent-encoded, as in baggage. */
function parsePairs(text: string): (readonly [string, string])[] {
  return text.split(',').flatMap(pair => {
    const at = pair.indexOf('=')
    if (at < 1) return []
    return [[decodePercent(pair.slice(0, at).trim()), decodePercent(pair.slice(at + 1).trim())] as const]
  })
}

function resolveTimeout(timeout: TracingOptions['timeout'], variable: string | undefined): number {
  if (timeout !== undefined) return parseDuration(timeout)
  const ms = Number(variable)
  return isGiven(variable) && Number.isFinite(ms) && ms > 0 ? ms : TIMEOUT_MS
}

/** Unknown names are ignored, as the specification requires. */
function resolveCompression(compression: Compression | undefined, variables: Variables): Compression {
  const named = variables.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION ?? variables.OTEL_EXPORTER_OTLP_COMPRESSION
  return compression ?? (named === 'gzip' ? 'gzip' : 'none')
}

function resolveResource(
  { resource, service }: TracingOptions,
  variables: Variables,
  fallback: string,
): Readonly<Record<string, string>> {
  const listed = Object.fromEntries(parsePairs(variables.OTEL_RESOURCE_ATTRIBUTES ?? ''))
  const named = isGiven(variables.OTEL_SERVICE_NAME) ? variables.OTEL_SERVICE_NAME : undefined
  const name = service ?? named ?? listed['service.name'] ?? fallback
  return { ...listed, ...resource, 'service.name': name }
}

/** Unknown names are ignored, as the specification requires. */
function resolveSampler(
  { sampler, ratio }: TracingOptions,
  variables: Variables,
): { readonly sampler: SamplerName; readonly ratio: number } {
  const named = SAMPLERS.find(name => name === variables.OTEL_TRACES_SAMPLER)
  const part = Number(variables.OTEL_TRACES_SAMPLER_ARG)
  const isPart = isGiven(variables.OTEL_TRACES_SAMPLER_ARG) && part >= 0 && part <= 1
  // A ratio implies a ratio sampler.
  const usual = ratio === undefined ? 'parentbased_always_on' : 'parentbased_traceidratio'
  return { sampler: sampler ?? named ?? usual, ratio: ratio ?? (isPart ? part : 1) }
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

/** Sampler names in `OTEL_TRACES_SAMPLER`. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

type SamplerName = (typeof SAMPLERS)[number]

/** Decides if a trace is recorded; `parent` is the caller's context. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean

const PARENT_BASED = 'parentbased_'
/** Compared digits of a trace id: 52 bits fit a double. */
const DIGITS = 13

/** Creates a sampler; the decision depends only on the trace id and ratio. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith(PARENT_BASED)
  const root = createRootSampler(isParentBased ? name.slice(PARENT_BASED.length) : name, ratio)
  return isParentBased
    ? (traceId, parent) => (parent === undefined ? root(traceId) : parent.isSampled)
    : traceId => root(traceId)
}

function createRootSampler(name: string, ratio: number): (traceId: string) => boolean {
  if (name === 'always_off' || (name === 'traceidratio' && ratio <= 0)) return () => false
  if (name === 'always_on' || ratio >= 1) return () => true
  const bound = ratio * 16 ** DIGITS
  return traceId => Number.parseInt(traceId.slice(-DIGITS), 16) < bound
}
