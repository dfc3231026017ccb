import type { Config, ExplainStep, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { defineFindings, gatewayError, readMap, parseDuration, getErrorMessage } from '../../src/plugin.ts'
import { Exporter, SpanCounts } from './exporter.ts'
import { hasHostApi } from './trace-context.ts'
import type { TracingSettings } from './settings.ts'
import { createSampler, parseTracingSettings, VARIABLES } from './settings.ts'
import { createEnvelope } from './format-span.ts'
import { Spans } from './spans.ts'

const HEALTH = {
  'tracing-unsent': {
    level: 'warning',
    text: 'span export to {to} fails: {why}',
    fix: 'Check that a collector accepts OTLP over HTTP there (usually port 4318); tracing.endpoint sets the URL',
  },
} as const

const tracingFinding = defineFindings(HEALTH)

type TracingOptions = NonNullable<Config['tracing']>

/** Maximum wait for the collector at shutdown. */
const CLOSE_TIMEOUT_MS = 2000

/** Port for OTLP over gRPC, which is not supported. */
const GRPC_PORT = '4317'

const CONTEXT_STEP: ExplainStep = {
  by: 'tracing',
  at: 'call',
  does: 'changes',
  text: 'propagates the trace context in `_meta`, and over HTTP in headers',
  facts: { headers: ['traceparent', 'tracestate'] },
}

/** Exports spans to an OpenTelemetry collector. Requests never wait for it; spans over the limit are dropped. */
export const tracing: Plugin<TracingOptions> = {
  name: 'tracing',
  claims: { section: 'tracing', records: true },
  health: HEALTH,
  check: checkTracing,
  setup(api) {
    const { hooks, slot } = api
    const settings = readSettings(api)
    const counts = slot.gateway(() => new SpanCounts())
    const exporter = createExporter(api, settings, counts)
    const sampler = createSampler(settings.sampler, settings.ratio)
    const spans = new Spans(api, sampler, exporter)

    // In-process requests: read the host's context while it is active.
    if (hasHostApi()) hooks.request.tap({ stage: 'trace' }, exchange => spans.startTrace(exchange))
    // Innermost, so that each attempt has its own span.
    hooks.dispatch.tap({ stage: 'transform' }, (next, upstream) => spans.wrapDispatch(next, upstream))
    hooks.clientRequest.tap({ stage: 'trace' }, (ask, exchange) => spans.startClientRequest(ask, exchange))
    hooks.auditEvent.tap(({ kind, name, outcome, exchange }) => {
      if (kind === 'client_request' && exchange !== undefined) spans.endClientRequest(exchange, name, outcome)
    })
    hooks.settled.tap(exchange => spans.endExchange(exchange))
    hooks.explain.tap((steps, { call }) => (call === undefined ? undefined : [...steps, CONTEXT_STEP]))
    hooks.health.tap(findings => {
      const { failure: why } = exporter
      const to = new URL(settings.url).origin
      return why === undefined ? undefined : [...findings, tracingFinding('tracing-unsent', { to, why })]
    })
    hooks.metrics.tap(figures => [...figures, ...counts.listFigures(exporter.waiting)])
    hooks.close.tap(() => exporter.close(CLOSE_TIMEOUT_MS))
  },
}

/** Reports an invalid URL, a gRPC port, and an unused ratio. */
function checkTracing(config: unknown, report: Report): void {
  const { endpoint, sampler, ratio } = readMap(config, 'tracing')
  if (typeof endpoint === 'string' && !isHttp(endpoint))
    report({
      pointer: '/tracing/endpoint',
      message: 'must be an http or https URL',
      hint: 'such as http://localhost:4318',
    })
  else if (typeof endpoint === 'string' && new URL(endpoint).port === GRPC_PORT)
    report({
      pointer: '/tracing/endpoint',
      message: 'is the usual port for gRPC, which is not supported',
      hint: 'OTLP over HTTP usually uses port 4318',
      severity: 'warning',
    })
  if (ratio === undefined || typeof sampler !== 'string' || sampler.endsWith('traceidratio')) return
  report({
    pointer: '/tracing/ratio',
    message: `sampler "${sampler}" has no ratio`,
    hint: 'use parentbased_traceidratio, or remove the ratio',
    severity: 'warning',
  })
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function readSettings({ options, config, programs }: PluginApi<TracingOptions>): TracingSettings {
  try {
    return parseTracingSettings(options, programs.createEnvironment(VARIABLES, {}), config.server.name)
  } catch (cause) {
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'tracing', why: getErrorMessage(cause), cause })
  }
}

function createExporter(
  { options, config, clock, log }: PluginApi<TracingOptions>,
  settings: TracingSettings,
  counts: SpanCounts,
): Exporter {
  const { queue, batch, every } = options
  const { version = '' } = config.server
  const resource = {
    ...(version === '' ? {} : { 'service.version': version }),
    'telemetry.sdk.name': 'tapgate',
    'telemetry.sdk.language': 'nodejs',
    'process.pid': String(process.pid),
    ...settings.resource,
  }
  const around = createEnvelope(resource, { name: 'tapgate', version })
  return new Exporter({ ...settings, queue, batch, everyMs: parseDuration(every), ...around }, counts, {
    clock,
    log,
  })
}
