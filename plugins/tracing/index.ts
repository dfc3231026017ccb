import type { ExplainStep, Plugin, Report } from '../../src/plugin.ts'
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
  errors: ERRORS,
  health: HEALTH,
  check: checkTracing,
  async setup(api) {
    const { hooks, slot, clock, config } = api
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
    hooks.explain.tap((steps, { call }) => (call === undefined ? undefined : [...steps, CONTEXT_STEP]))
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
