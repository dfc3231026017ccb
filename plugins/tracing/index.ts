import type { Config, ExplainStep, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { defineFindings, gatewayError, readMap, parseDuration, getErrorMessage } from '../../src/plugin.ts'
import { Exporter, SpanCounts } from './exporter.ts'
import { hasHostApi } from './context.ts'
import type { Settings } from './settings.ts'
import { samplerOf, settingsOf, VARIABLES } from './settings.ts'
import { envelope } from './span-text.ts'
import { Spans } from './spans.ts'

/** Findings about traces. */
const HEALTH = {
  'tracing-unsent': {
    level: 'warning',
    text: 'spans cannot be sent to {to}: {why}',
    fix: 'See that a collector takes OTLP over HTTP there (port 4318 as a rule); tracing.endpoint says where',
  },
} as const

const found = defineFindings(HEALTH)

type Options = NonNullable<Config['tracing']>

/** The longest that the end of a gateway waits for its collector. */
const CLOSE_MS = 2000

/** Port of OTLP over gRPC, which is not spoken here. */
const GRPC_PORT = '4317'

const CONTEXT: ExplainStep = {
  by: 'tracing',
  at: 'call',
  does: 'changes',
  text: 'the context of the trace goes with it, in `_meta` and over HTTP as headers',
  facts: { headers: ['traceparent', 'tracestate'] },
}

/** Sends spans of what passes to an OpenTelemetry collector. Nobody waits for it, and what is too much is dropped. */
export const tracing: Plugin<Options> = {
  name: 'tracing',
  claims: { section: 'tracing', records: true },
  health: HEALTH,
  check,
  setup(api) {
    const { hooks, slot } = api
    const settings = readSettings(api)
    const counts = slot.gateway(() => new SpanCounts())
    const exporter = exporterOf(api, settings, counts)
    const sampler = samplerOf(settings.sampler, settings.ratio)
    const spans = new Spans(api, sampler, exporter)

    // Only the application around a gateway knows the context of a request that comes from within.
    if (hasHostApi()) hooks.request.tap({ stage: 'trace' }, exchange => spans.begin(exchange))
    // Innermost, so that each try of a call is one.
    hooks.dispatch.tap({ stage: 'transform' }, (next, upstream) => spans.wrap(next, upstream))
    hooks.clientRequest.tap({ stage: 'trace' }, (ask, exchange) => spans.asked(ask, exchange))
    hooks.auditEvent.tap(({ kind, name, outcome, exchange }) => {
      if (kind === 'client_request' && exchange !== undefined) spans.replied(exchange, name, outcome)
    })
    hooks.settled.tap(exchange => spans.settled(exchange))
    hooks.explain.tap((steps, { call }) => (call === undefined ? undefined : [...steps, CONTEXT]))
    hooks.health.tap(findings => {
      const { failure: why } = exporter
      const to = new URL(settings.url).origin
      return why === undefined ? undefined : [...findings, found('tracing-unsent', { to, why })]
    })
    hooks.metrics.tap(figures => [...figures, ...counts.figures(exporter.waiting)])
    hooks.close.tap(() => exporter.close(CLOSE_MS))
  },
}

/** Points at a URL that is none or of another protocol, and at a ratio that nothing takes. */
function check(config: unknown, report: Report): void {
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
      message: 'names the port where collectors take gRPC',
      hint: 'OTLP over HTTP is at 4318 as a rule',
      severity: 'warning',
    })
  if (ratio === undefined || typeof sampler !== 'string' || sampler.endsWith('traceidratio')) return
  report({
    pointer: '/tracing/ratio',
    message: `sampler "${sampler}" has no ratio`,
    hint: 'take parentbased_traceidratio, or leave the ratio out',
    severity: 'warning',
  })
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function readSettings({ options, config, programs }: PluginApi<Options>): Settings {
  try {
    return settingsOf(options, programs.createEnvironment(VARIABLES, {}), config.server.name)
  } catch (cause) {
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'tracing', why: getErrorMessage(cause), cause })
  }
}

function exporterOf(
  { options, config, clock, log }: PluginApi<Options>,
  settings: Settings,
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
  const around = envelope(resource, { name: 'tapgate', version })
  return new Exporter({ ...settings, queue, batch, everyMs: parseDuration(every), ...around }, counts, {
    clock,
    log,
  })
}
