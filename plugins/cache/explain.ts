import { durationText, type Call, type Clock, type ExplainStep } from '../../src/plugin.ts'
import { isPlain, keysOf, targetOf } from './keys.ts'
import type { Policy, Rules } from './policy.ts'
import type { Entry, Store } from './store.ts'

const BASE = { by: 'cache', at: 'dispatch' } as const

/** Says by which rule an answer is kept, and whether one is kept now. */
export function explainCache(
  call: Call,
  rules: Rules,
  hasArguments: boolean,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): ExplainStep {
  const rule = rules(call)
  if (rule === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  if (rule.purges.length > 0)
    return { ...BASE, does: 'passes', text: 'its success makes kept answers of others out of date' }
  const { policy } = rule
  if (policy === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  const facts = { ttlMs: policy.ttlMs, staleIfErrorMs: policy.staleIfErrorMs }
  const kept = `answers are kept for ${durationText(policy.ttlMs)}${whose(policy)}`
  if (!hasArguments)
    return { ...BASE, does: 'depends', text: `${kept}; --args says whether one is kept now`, facts }
  const entry = isPlain(call) ? entryFor(call, policy, store) : undefined
  const now = clock.now()
  if (entry?.trust !== 'known' || now >= entry.revalidateUntil)
    return { ...BASE, does: 'passes', text: `${kept}; none is kept now`, facts }
  const age = durationText(now - entry.storedAt)
  const state = now < entry.staleAt ? 'fresh' : 'stale, and is renewed meanwhile'
  return { ...BASE, does: 'answers', text: `the answer of ${age} ago is ${state}`, facts }
}

function whose({ perSession, headers, args }: Policy): string {
  const by = [
    perSession ? 'session' : 'caller',
    ...headers.map(name => `header ${name}`),
    args === undefined ? 'arguments' : `arguments ${args.join(', ')}`,
  ]
  return ` by ${by.join(', ')}`
}

function entryFor(call: Call, policy: Policy, store: Store): Entry | undefined {
  const keys = keysOf(call, targetOf(call), policy)
  return keys === undefined ? undefined : (store.look(keys.own) ?? store.look(keys.shared))
}
