import { createHash } from 'node:crypto'
import type { Call, ExplainStep, JsonObject, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { readList, getErrorMessage, readText, readTexts, readValue } from '../../src/plugin.ts'
import { identifyCall, FactsBuilder } from './call-facts.ts'
import type { PolicyVerdict, PolicyConfig, PolicyRule } from './policy-judge.ts'
import { PolicyCounts, PolicyJudge, collectFigures, compileRules, RuleIndex } from './policy-judge.ts'
import { ERRORS, PolicyGuard } from './policy-guard.ts'

/** Evaluates access rules on lists, if they are decidable there, and on each call. */
export const policy: Plugin<PolicyConfig | undefined> = {
  name: 'policy',
  claims: { section: 'policy', upstream: ['trusted', 'tags'] },
  errors: ERRORS,
  check: checkPolicy,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, config, hooks, slot } = api
    if (options === undefined) return
    const rules = new RuleIndex(compileRules(options).rules)
    if (rules.rules.length === 0) return
    const counts = slot.gateway(() => new PolicyCounts())
    const calls = slot.session(() => ({ count: 0 }))
    const facts = new FactsBuilder(config, options.headers, calls)
    const guard = new PolicyGuard(api, {
      rules,
      judge: new PolicyJudge(rules.hasAllow, createFailureReporter(api, counts)),
      facts,
      calls,
      counts,
      digest: hashRules(options),
    })
    const judgesUris = rules.rules.some(({ kinds }) => kinds?.has('resources') !== false)
    const hasAskRules = rules.rules.some(({ effect }) => effect === 'ask')
    hooks.catalog.tap({ stage: 'transform', checksUris: judgesUris }, (entries, view) => guard.filter(entries, view))
    // Outside the cache and the deadline, which waiting for an approval must not consume.
    hooks.dispatch.tap({ asks: hasAskRules }, next => guard.wrapDispatch(next))
    hooks.explain.tap((steps, { call, hasArguments }) => {
      const step = call === undefined ? undefined : explainPolicy(call, hasArguments, { rules, facts })
      return step === undefined ? undefined : [...steps, step]
    })
    hooks.metrics.tap(figures => [...figures, ...collectFigures(counts, rules.rules.length)])
  },
}

/** Counts rule failures, and logs each rule once. */
function createFailureReporter({ log }: PluginApi<PolicyConfig | undefined>, counts: PolicyCounts) {
  const reportedNames = new Set<string>()
  return ({ name, effect }: PolicyRule, error: unknown): void => {
    counts.countFailure(name)
    if (reportedNames.has(name)) return
    reportedNames.add(name)
    const [reason] = getErrorMessage(error).split('\n')
    log.warn('a policy rule failed to evaluate; the stricter outcome applies', {
      rule: name,
      effect,
      reason,
    })
  }
}

/** Hashes the rules, to detect approvals under other rules. */
function hashRules(options: PolicyConfig): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64url')
}

/** Reports invalid rules. */
export function checkPolicy(config: unknown, report: Report): void {
  const policy = readValue(config, 'policy')
  if (policy === undefined) return
  const { flaws } = compileRules(selectValidRules(policy))
  for (const { pointer, message, hint } of flaws) report({ pointer: `/policy/${pointer}`, message, hint })
}

/** Selects the well-formed rules; the schema reports the others. */
function selectValidRules(policy: unknown): PolicyConfig {
  const rules = (effect: string): PolicyConfig['deny'] =>
    readList(policy, effect).map(rule => {
      const when = typeof rule === 'string' ? rule : readText(rule, 'when')
      if (when === undefined || when === '') return 'true'
      if (typeof rule === 'string') return rule
      const names = readValue(rule, 'for')
      const scopes = readTexts(rule, 'scopes')
      return {
        when,
        ...(isGlobs(names) ? { for: names } : {}),
        ...(scopes.length > 0 ? { scopes } : {}),
      }
    })
  return {
    deny: rules('deny'),
    require: rules('require'),
    allow: rules('allow'),
    ask: rules('ask'),
    headers: [],
  }
}

function isGlobs(value: unknown): value is string | string[] {
  return typeof value === 'string' || (Array.isArray(value) && value.every(one => typeof one === 'string'))
}

/** Evaluates a hypothetical call without counting it; undefined if no rule applies. */
function explainPolicy(
  call: Call,
  hasArguments: boolean,
  { rules, facts }: { readonly rules: RuleIndex; readonly facts: FactsBuilder },
): ExplainStep | undefined {
  const called = identifyCall(call)
  const fitting = rules.findApplicable(called)
  const about = fitting.refusing.length + fitting.allow.length + fitting.ask.length
  if (about === 0 && !rules.hasAllow) return undefined
  const step = { by: 'policy', at: 'dispatch' } as const
  if (!hasArguments && fitting.reads.has('args'))
    return {
      ...step,
      does: 'depends',
      text: 'policy rules depend on the arguments: pass arguments to evaluate them',
    }
  const failures: string[] = []
  const judge = new PolicyJudge(rules.hasAllow, ({ name }) => void failures.push(name))
  const verdict = judge.judgeCall(fitting, {
    facts: facts.buildCallFacts(call, called, fitting.reads),
    scopes: call.exchange.principal.scopes,
  })
  const more: JsonObject = { rules: about, ...(failures.length === 0 ? {} : { failed: failures }) }
  return { ...step, ...formatVerdict(verdict), facts: more }
}

function formatVerdict(verdict: PolicyVerdict): Pick<ExplainStep, 'does' | 'text' | 'rule'> {
  if (verdict.effect === 'allow') return { does: 'passes', text: 'the policy allows it' }
  if (verdict.effect === 'ask')
    return {
      does: 'asks',
      text: `approval required by rule "${verdict.rule}"`,
      rule: verdict.rule,
    }
  const { rule, scopes } = verdict
  const why =
    scopes !== undefined
      ? `the caller lacks the scope ${scopes.join(' ')}`
      : rule === undefined
        ? 'no policy rule allows it'
        : `policy rule "${rule}" refuses it`
  return { does: 'refuses', text: why, ...(rule === undefined ? {} : { rule }) }
}
