import type { Call, ExplainStep, Plugin, Upstream } from '../../src/plugin.ts'
import { defineFindings } from '../../src/plugin.ts'
import { Bulkhead } from './bulkhead.ts'
import { ERRORS, findToolTimeout, hasNoLimits, parseBulkheadSettings } from './retries.ts'

const BY = 'resilience'

/** Explains the limits for a call, and whether the circuit is open. */
function explainBulkhead(call: Call, { settings, breaker, permits }: Bulkhead): ExplainStep[] {
  const { concurrency } = settings.permits
  const { idle: ms, total } = findToolTimeout(settings, call) ?? settings.timeout
  const parts = [
    ms > 0 ? `timeout ${ms} ms` : 'no timeout',
    ...(total > ms ? [`with progress ${total === Infinity ? 'unlimited' : `up to ${total} ms`}`] : []),
    ...(concurrency > 0 ? [`${permits.running} of ${concurrency} calls running`] : []),
  ]
  const facts = { timeoutMs: ms, concurrency, running: permits.running, waiting: permits.waiting }
  const step: ExplainStep = { by: BY, at: 'dispatch', does: 'passes', text: parts.join(', '), facts }
  if (breaker?.isOpen !== true) return [step]
  const text = `circuit of "${call.upstream}" is open for another ${breaker.retryAfterMs} ms: ${breaker.why}`
  return [step, { by: BY, at: 'dispatch', does: 'refuses', text, isPassing: true }]
}

const HEALTH = {
  'breaker-open': {
    level: 'warning',
    text: 'circuit of {upstream} is open: {why}',
    fix: 'See the output of a local server with gateway logs {upstream}, or the gateway log',
  },
} as const

const bulkheadFinding = defineFindings(HEALTH)

/** Bulkheads outlive a generation, because the health belongs to the upstream. */
const bulkheadsByUpstream = new WeakMap<Upstream, Bulkhead>()

/**
 * Isolates upstreams from each other: call deadlines, extended by progress and client requests; a bounded queue with
 * fair concurrency; a circuit breaker; and retries for safe calls.
 */
export const resilience: Plugin = {
  name: 'resilience',
  claims: { upstream: ['timeout', 'limits', 'breaker', 'retry'], always: true },
  errors: ERRORS,
  health: HEALTH,
  setup({ hooks, clock, log }) {
    const bulkheads = new Map<string, Bulkhead>()
    hooks.dispatch.tap((next, upstream) => {
      const settings = parseBulkheadSettings(upstream.spec)
      if (hasNoLimits(settings)) return next
      const bulkhead =
        bulkheadsByUpstream.get(upstream) ?? new Bulkhead(settings, { upstream: upstream.name, clock, log })
      bulkheadsByUpstream.set(upstream, bulkhead)
      bulkheads.set(upstream.name, bulkhead)
      return call => bulkhead.dispatchGuarded(call, next)
    })
    hooks.upstreamState.tap((upstream, state) => {
      const breaker = bulkheads.get(upstream)?.breaker
      if (breaker === undefined) return
      breaker.isStopped = state === 'stopped'
      if (state === 'ready') breaker.reset()
    })
    hooks.explain.tap((steps, { call }) => {
      const bulkhead = bulkheads.get(call?.upstream ?? '')
      if (call === undefined || bulkhead === undefined) return undefined
      return [...steps, ...explainBulkhead(call, bulkhead)]
    })
    hooks.health.tap(findings => {
      const open = [...bulkheads].filter(([, { breaker }]) => breaker !== undefined && breaker.state !== 'closed')
      return [
        ...findings,
        ...open.map(([upstream, { breaker }]) =>
          bulkheadFinding('breaker-open', { upstream, why: breaker?.why ?? '' }),
        ),
      ]
    })
    hooks.status.tap((status, { name }) => {
      const bulkhead = bulkheads.get(name)
      return bulkhead === undefined ? status : { ...status, ...bulkhead.describeStatus() }
    })
  },
}
