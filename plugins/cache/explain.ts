import { durationText, type Call, type Clock, type ExplainStep, type PluginHooks } from '../../src/plugin.ts'
import { isPlain, keysOf, targetOf } from './keys.ts'
import type { Policy, Rules } from './policy.ts'
import type { Sharing } from './shared/sharing.ts'
import type { Entry, Store } from './store.ts'

const BASE = { by: 'cache', at: 'dispatch' } as const

interface Kept {
  readonly store: Store
  readonly clock: Clock
  readonly sharing: Sharing | undefined
}

/** Has the ways of calls say what the cache does with each. */
export function explains(hooks: PluginHooks, rulesOf: ReadonlyMap<string, Rules>, kept: Kept): void {
  hooks.explain.tap((steps, { call, hasArguments }) => {
    const rules = rulesOf.get(call?.upstream ?? '')
    if (call === undefined || rules === undefined) return undefined
    return [...steps, explainCache(call, rules, hasArguments, kept)]
  })
}

/** Says by which rule an answer is kept, and whether one is kept now. */
function explainCache(
  call: Call,
  rules: Rules,
  hasArguments: boolean,
  { store, clock, sharing }: Kept,
): ExplainStep {
  const rule = rules(call)
  if (rule === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  if (rule.purges.length > 0)
    return { ...BASE, does: 'passes', text: 'its success makes kept answers of others out of date' }
  const { policy } = rule
  if (policy === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  const facts = { ttlMs: policy.ttlMs, staleIfErrorMs: policy.staleIfErrorMs }
  const kept = `answers are kept for ${durationText(policy.ttlMs)}${whose(policy)}${sharedAs(call, policy, sharing)}`
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

function sharedAs({ upstream }: Call, { perSession }: Policy, sharing: Sharing | undefined): string {
  return !perSession && sharing?.has(upstream) === true ? ', and shared with the other replicas' : ''
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
