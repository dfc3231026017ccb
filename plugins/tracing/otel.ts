import type * as Api from '@opentelemetry/api'
import type * as Core from '@opentelemetry/core'
import type * as Otlp from '@opentelemetry/exporter-trace-otlp-http'
import type * as Resources from '@opentelemetry/resources'
import type * as Sdk from '@opentelemetry/sdk-trace'
import type { Config, Log, Metric, PluginApi } from '../../src/plugin.ts'
import { defineErrors, getErrorMessage, parseDuration } from '../../src/plugin.ts'

export type TracingOptions = NonNullable<Config['tracing']>

export const ERRORS = {
  GW_TRACING_PACKAGE: {
    text: 'cannot load the packages of OpenTelemetry, which tracing requires: {why}',
    hint: 'Install them next to the gateway: npm install @opentelemetry/api @opentelemetry/core @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/exporter-trace-otlp-http.',
    exit: 3,
  },
} as const

const tracingError = defineErrors(ERRORS)

/** The API with the parser of trace contexts. */
export type OtelApi = typeof Api & Pick<typeof Core, 'parseTraceParent' | 'TraceState'>

interface OtelPackages {
  readonly api: OtelApi
  readonly sdk: typeof Sdk
  readonly resources: typeof Resources
  readonly otlp: typeof Otlp
}

/** Loads the optional packages. @throws GatewayError GW_TRACING_PACKAGE */
export async function loadPackages(): Promise<OtelPackages> {
  try {
    const [api, { parseTraceParent, TraceState }, sdk, resources, otlp] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api: { ...api, parseTraceParent, TraceState }, sdk, resources, otlp }
  } catch (cause) {
    throw tracingError('GW_TRACING_PACKAGE', { why: getErrorMessage(cause), cause })
  }
}

const PATH = '/v1/traces'

/** Creates the provider, whose spans go to the collector. `OTEL_*` variables supply missing settings. */
export function createProvider(
  { sdk, resources, otlp }: OtelPackages,
  api: PluginApi<TracingOptions>,
  counts: SpanCounts,
): Sdk.TracerProvider {
  const { endpoint, headers, timeout, compression, queue, batch, every } = api.options
  const exporter = new otlp.OTLPTraceExporter({
    ...(endpoint === undefined ? {} : { url: completeUrl(endpoint) }),
    ...(headers === undefined ? {} : { headers }),
    ...(timeout === undefined ? {} : { timeoutMillis: parseDuration(timeout) }),
    ...(compression === undefined ? {} : { compression: compression as never }),
  })
  const processor = new sdk.BatchSpanProcessor({
    exporter: countSent(exporter, counts, api.log),
    maxQueueSize: queue,
    maxExportBatchSize: Math.min(batch, queue),
    scheduledDelayMillis: parseDuration(every),
  })
  return new sdk.TracerProvider({
    resource: createResource(resources, api),
    sampler: createSampler(sdk, api),
    spanProcessors: [countQueued(processor, counts, queue)],
  })
}

function completeUrl(endpoint: string): string {
  const url = new URL(endpoint)
  if (!url.pathname.endsWith(PATH)) url.pathname = `${url.pathname.replace(/\/+$/, '')}${PATH}`
  return url.href
}

function createResource(
  { defaultResource, detectResources, envDetector, resourceFromAttributes }: typeof Resources,
  { options, config }: PluginApi<TracingOptions>,
): Resources.Resource {
  const { name, version } = config.server
  const own = { 'service.name': name, 'service.version': version ?? '', 'process.pid': process.pid }
  const configured = options.service === undefined ? {} : { 'service.name': options.service }
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes({ ...options.resource, ...configured }))
}

const PARENT_BASED = 'parentbased_'
const SAMPLERS: ReadonlySet<unknown> = new Set(
  ['always_on', 'always_off', 'traceidratio'].flatMap(name => [name, PARENT_BASED + name]),
)

function createSampler(sdk: typeof Sdk, api: PluginApi<TracingOptions>): Sdk.Sampler {
  const { name, ratio } = resolveSampler(api)
  const isParentBased = name.startsWith(PARENT_BASED)
  const base = isParentBased ? name.slice(PARENT_BASED.length) : name
  const createRoot: Readonly<Record<string, () => Sdk.Sampler>> = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
  }
  const root = createRoot[base]?.() ?? new sdk.TraceIdRatioBasedSampler(ratio)
  return isParentBased ? new sdk.ParentBasedSampler({ root }) : root
}

/** A ratio implies a ratio sampler. Unknown names in variables are ignored, as the specification requires. */
function resolveSampler({ options, programs }: PluginApi<TracingOptions>): {
  readonly name: string
  readonly ratio: number
} {
  const variables = programs.createEnvironment(['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'], {})
  const { OTEL_TRACES_SAMPLER: named, OTEL_TRACES_SAMPLER_ARG: part = '1' } = variables
  const usual = options.ratio === undefined ? 'parentbased_always_on' : 'parentbased_traceidratio'
  const known = named !== undefined && SAMPLERS.has(named) ? named : undefined
  const isPart = Number(part) >= 0 && Number(part) <= 1
  return { name: options.sampler ?? known ?? usual, ratio: options.ratio ?? (isPart ? Number(part) : 1) }
}

/** Span counters by outcome; they survive a reload. */
export class SpanCounts {
  sent = 0
  dropped = 0
  failed = 0
  waiting = 0
  /** Last failure; undefined after a success. */
  failure: string | undefined

  listMetrics(): Metric[] {
    const samples = Object.entries({ sent: this.sent, dropped: this.dropped, failed: this.failed })
    return [
      {
        name: 'tapgate_spans',
        type: 'counter',
        help: 'Spans by outcome: sent, dropped (queue full), or failed.',
        samples: samples.map(([outcome, value]) => ({ suffix: '_total', labels: { outcome }, value })),
      },
      { name: 'tapgate_spans_waiting', type: 'gauge', help: 'Queued spans.', samples: [{ value: this.waiting }] },
    ]
  }
}

/** Counts spans that are queued, or dropped because the queue is full. */
function countQueued(processor: Sdk.SpanProcessor, counts: SpanCounts, max: number): Sdk.SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (counts.waiting >= max) {
        counts.dropped++
        return
      }
      counts.waiting++
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}

/** Counts sent and failed spans, and logs the first failure. */
function countSent(exporter: Sdk.SpanExporter, counts: SpanCounts, log: Log): Sdk.SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        const failure = (result.code as number) === 0 ? undefined : describeFailure(result.error)
        counts.waiting -= spans.length
        counts[failure === undefined ? 'sent' : 'failed'] += spans.length
        if (failure !== undefined && counts.failure === undefined) log.warn('span export failed', { reason: failure })
        counts.failure = failure
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** If several addresses failed, the error has only a code. */
function describeFailure(error: (Error & { readonly code?: unknown }) | undefined): string {
  return error === undefined ? 'unknown' : error.message === '' ? String(error.code) : error.message
}
