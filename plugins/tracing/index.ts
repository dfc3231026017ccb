import type { Plugin, Report } from '../../src/plugin.ts'
import { defineFindings, readMap } from '../../src/plugin.ts'
import type { TracingOptions } from './otel.ts'
import { createProvider, ERRORS, loadPackages, SpanCounts } from './otel.ts'
import { Spans } from './spans.ts'

const HEALTH = {
  'tracing-unsent': {
    level: 'warning',
    text: 'span export fails: {why}',
    fix: 'Check that a collector accepts OTLP over HTTP (usually port 4318); tracing.endpoint sets the URL',
  },
} as const

const tracingFinding = defineFindings(HEALTH)

/** Maximum wait for the collector at shutdown. */
const CLOSE_TIMEOUT_MS = 2000

/** Port for OTLP over gRPC, which is not supported. */
const GRPC_PORT = '4317'

/** Exports spans to an OpenTelemetry collector. Requests never wait for it; spans over the limit are dropped. */
export const tracing: Plugin<TracingOptions> = {
  name: 'tracing',
  claims: { section: 'tracing', records: true },
  errors: ERRORS,
  health: HEALTH,
  check: checkTracing,
  async setup(api) {
    const { hooks, slot, clock, config, programs } = api
    if (programs.createEnvironment(['OTEL_SDK_DISABLED'], {}).OTEL_SDK_DISABLED?.toLowerCase() === 'true') return
    const packages = await loadPackages()
    const counts = slot.gateway(() => new SpanCounts())
    const provider = createProvider(packages, api, counts)
    const spans = new Spans(api, packages.api, provider.getTracer('tapgate', config.server.version))

    // In-process requests: read the host's context while it is active.
    hooks.request.tap({ stage: 'trace' }, exchange => spans.startTrace(exchange))
    // Innermost, so that each attempt has its own span.
    hooks.dispatch.tap({ stage: 'transform' }, (next, upstream) => spans.wrapDispatch(next, upstream))
    hooks.clientRequest.tap({ stage: 'trace' }, (ask, exchange) => spans.startClientRequest(ask, exchange))
    hooks.auditEvent.tap(({ kind, name, outcome, exchange }) => {
      if (kind === 'client_request' && exchange !== undefined) spans.endClientRequest(exchange, name, outcome)
    })
    hooks.settled.tap(exchange => spans.endExchange(exchange))
    hooks.health.tap(findings => {
      const { failure: why } = counts
      return why === undefined ? undefined : [...findings, tracingFinding('tracing-unsent', { why })]
    })
    hooks.metrics.tap(figures => [...figures, ...counts.listMetrics()])
    hooks.close.tap(async () => {
      const late = new Promise<void>(resolve => clock.after(CLOSE_TIMEOUT_MS, resolve))
      await Promise.race([provider.shutdown().catch(() => undefined), late])
    })
  },
}

/** Reports an invalid URL and a gRPC port. */
function checkTracing(config: unknown, report: Report): void {
  const { endpoint } = readMap(config, 'tracing')
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
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
