import {
  type Call,
  type ExplainStep,
  defineFindings,
  compileGlobs,
  type Plugin,
  type Upstream,
} from '../../src/plugin.ts'
import { Bulkhead } from './bulkhead.ts'
import { ERRORS, type Settings, isIdle, ownTimeout, settingsOf } from './settings.ts'

const BY = 'resilience'

/** Says what keeps a call from waiting for ever, and whether its server rests. */
function explainBulkhead(call: Call, settings: Settings, bulkhead: Bulkhead): ExplainStep[] {
  const { breaker, turns } = bulkhead
  const { concurrency } = settings.turns
  const { idle: ms, total } = ownTimeout(settings, call) ?? settings.timeout
  const parts = [
    ms > 0 ? `it has ${ms} ms` : 'it has no deadline',
    ...(total > ms
      ? [`with progress ${total === Infinity ? 'as long as it takes' : `up to ${total} ms`}`]
      : []),
    ...(concurrency > 0 ? [`${turns.running} of ${concurrency} turns are taken`] : []),
    triesOf(call, settings),
  ]
  const facts = { timeoutMs: ms, concurrency, running: turns.running, waiting: turns.waiting }
  const step: ExplainStep = { by: BY, at: 'dispatch', does: 'passes', text: parts.join(', '), facts }
  if (breaker?.isShut !== true) return [step]
  const text = `"${call.upstream}" rests for another ${breaker.retryAfterMs} ms: ${breaker.why}`
  return [step, { by: BY, at: 'dispatch', does: 'refuses', text, isPassing: true }]
}

/** Only tools that are named may run twice. */
function triesOf({ params }: Call, { retry }: Settings): string {
  const isSafe =
    retry !== undefined && retry.tools.length > 0 && compileGlobs(retry.tools)(String(params?.name))
  return isSafe ? `at most ${retry.attempts} tries` : 'one try'
}

const HEALTH = {
  'breaker-open': {
    level: 'warning',
    text: 'calls of {upstream} are refused for a while: {why}',
    fix: 'gateway logs {upstream} shows its output',
  },
} as const

const found = defineFindings(HEALTH)

/** Advice for servers that are no process of ours, and so have no output here. */
const WITHOUT_OUTPUT = 'The log of the gateway says more'

/** Bulkheads by upstream: the health of an upstream belongs to it, and outlives the generations that it is kept in. */
const known = new WeakMap<Upstream, Bulkhead>()

/**
 * Keeps the trouble of one upstream from all others: a deadline for every call, which a client that thinks extends and, if
 * configured, progress; turns with a bounded queue, a breaker, and retries of what is safe to repeat.
 */
export const resilience: Plugin = {
  name: 'resilience',
  claims: { upstream: ['timeout', 'limits', 'breaker', 'retry'], always: true },
  errors: ERRORS,
  health: HEALTH,
  setup({ hooks, clock, log }) {
    const bulkheads = new Map<string, Bulkhead>()
    const withOutput = new Set<string>()
    const specs = new Map<string, Settings>()
    hooks.dispatch.tap({ phase: 'queue' }, (next, upstream) => {
      const settings = settingsOf(upstream.spec)
      if (isIdle(settings)) return next
      const host = { upstream: upstream.name, clock, log, random: Math.random }
      const bulkhead = known.get(upstream) ?? new Bulkhead(settings, host)
      known.set(upstream, bulkhead)
      bulkheads.set(upstream.name, bulkhead)
      specs.set(upstream.name, settings)
      if (upstream.logs !== undefined) withOutput.add(upstream.name)
      return call => bulkhead.run(call, next)
    })
    hooks.upstreamState.tap((upstream, state) => {
      const breaker = bulkheads.get(upstream)?.breaker
      if (breaker === undefined) return
      breaker.isStopped = state === 'stopped'
      if (state === 'ready') breaker.heal()
    })
    hooks.explain.tap((steps, { call }) => {
      const bulkhead = bulkheads.get(call?.upstream ?? '')
      const settings = specs.get(call?.upstream ?? '')
      if (call === undefined || settings === undefined || bulkhead === undefined) return undefined
      return [...steps, ...explainBulkhead(call, settings, bulkhead)]
    })
    hooks.health.tap(findings => {
      const open = [...bulkheads].filter(
        ([, { breaker }]) => breaker !== undefined && breaker.state !== 'closed',
      )
      return [
        ...findings,
        ...open.map(([upstream, { breaker }]) => ({
          ...found('breaker-open', { upstream, why: breaker?.why ?? '' }),
          ...(withOutput.has(upstream) ? {} : { fix: WITHOUT_OUTPUT }),
        })),
      ]
    })
    hooks.status.tap((status, { name }) => {
      const bulkhead = bulkheads.get(name)
      return bulkhead === undefined ? status : { ...status, ...bulkhead.status() }
    })
  },
}
