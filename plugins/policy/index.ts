import { createHash } from 'node:crypto'
import { type Plugin, type PluginApi, reasonOf } from '../../src/plugin.ts'
import { FactsMaker } from './call-facts.ts'
import { check } from './check.ts'
import { Counts, figuresOf } from './counts.ts'
import { ERRORS } from './errors.ts'
import { explained } from './explain.ts'
import { Judge } from './judge.ts'
import { compileRules, RuleIndex, type Rule, type PolicyConfig } from './rules.ts'
import { Guard } from './guard.ts'

/** Decides by expressions who may do what: on lists where they say enough, and on every call. */
export const policy: Plugin<PolicyConfig | undefined> = {
  name: 'policy',
  claims: { section: 'policy', upstream: ['trusted', 'tags'] },
  errors: ERRORS,
  check,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, config, hooks, slot } = api
    if (options === undefined) return
    const rules = new RuleIndex(compileRules(options).rules)
    if (rules.rules.length === 0) return
    const counts = slot.gateway(() => new Counts())
    const calls = slot.session(() => ({ count: 0 }))
    const facts = new FactsMaker(config, options.headers, calls)
    const guard = new Guard(api, {
      rules,
      judge: new Judge(rules.hasAllow, failures(api, counts)),
      facts,
      calls,
      counts,
      digest: digestOf(options),
    })
    const judgesUris = rules.rules.some(({ kinds }) => kinds?.has('resources') !== false)
    const asks = rules.rules.some(({ effect }) => effect === 'ask')
    hooks.catalog.tap({ stage: 'transform', judgesUris }, (entries, view) => guard.filter(entries, view))
    // In the order of set-up: outside the cache, and outside the deadline, which a person must not use up.
    hooks.dispatch.tap({ asks, phase: 'policy' }, next => guard.dispatch(next))
    hooks.explain.tap((steps, { call, hasArguments }) => {
      const step = call === undefined ? undefined : explained(call, hasArguments, { rules, facts })
      return step === undefined ? undefined : [...steps, step]
    })
    hooks.figures.tap(figures => [...figures, ...figuresOf(counts, rules.rules.length)])
  },
}

/** Counts rules that had no value, and tells of each once. */
function failures({ log }: PluginApi<PolicyConfig | undefined>, counts: Counts) {
  const told = new Set<string>()
  return ({ name, effect }: Rule, error: unknown): void => {
    counts.failed(name)
    if (told.has(name)) return
    told.add(name)
    const [reason] = reasonOf(error).split('\n')
    log.warn('a rule of the policy has no value, which counts against the caller', {
      rule: name,
      effect,
      reason,
    })
  }
}

/** Digest of the rules: what was decided under others does not hold under these. */
function digestOf(options: PolicyConfig): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64url')
}
