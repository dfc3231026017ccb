import { globs, type Call, type ExplainStep } from '../../src/plugin.ts'
import type { Bulkhead } from './bulkhead.ts'
import { ownTimeout, type Settings } from './settings.ts'

const BY = 'resilience'

/** Says what keeps a call from waiting for ever, and whether its server rests. */
export function explainBulkhead(call: Call, settings: Settings, bulkhead: Bulkhead): ExplainStep[] {
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
  const isSafe = retry !== undefined && retry.tools.length > 0 && globs(retry.tools)(String(params?.name))
  return isSafe ? `at most ${retry.attempts} tries` : 'one try'
}
