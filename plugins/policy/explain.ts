import { type Call, type ExplainStep, type JsonObject } from '../../src/plugin.ts'
import { calledIn, type FactsMaker } from './call-facts.ts'
import { Judge, type Verdict } from './judge.ts'
import type { RuleIndex } from './rules.ts'

/** Verdict of the policy on a call that nobody makes; nothing is counted. Undefined where no rule is about it. */
export function explained(
  call: Call,
  hasArguments: boolean,
  { rules, facts }: { readonly rules: RuleIndex; readonly facts: FactsMaker },
): ExplainStep | undefined {
  const called = calledIn(call)
  const fitting = rules.fitting(called)
  const about = fitting.refusing.length + fitting.allow.length + fitting.ask.length
  if (about === 0 && !rules.hasAllow) return undefined
  const step = { by: 'policy', at: 'dispatch' } as const
  if (!hasArguments && fitting.reads.has('args'))
    return { ...step, does: 'depends', text: 'rules of the policy read the arguments: say which they are' }
  const failures: string[] = []
  const judge = new Judge(rules.hasAllow, ({ name }) => void failures.push(name))
  const verdict = judge.call(fitting, {
    facts: facts.ofCall(call, called, fitting.reads),
    scopes: call.exchange.principal.scopes,
  })
  const more: JsonObject = { rules: about, ...(failures.length === 0 ? {} : { failed: failures }) }
  return { ...step, ...said(verdict), facts: more }
}

function said(verdict: Verdict): Pick<ExplainStep, 'does' | 'text' | 'rule'> {
  if (verdict.effect === 'allow') return { does: 'passes', text: 'the policy allows it' }
  if (verdict.effect === 'ask')
    return {
      does: 'asks',
      text: `a person decides first, as rule "${verdict.rule}" says`,
      rule: verdict.rule,
    }
  const { rule, scopes } = verdict
  const why =
    scopes !== undefined
      ? `the caller lacks the scope ${scopes.join(' ')}`
      : rule === undefined
        ? 'no rule of the policy allows it'
        : `rule "${rule}" of the policy refuses it`
  return { does: 'refuses', text: why, ...(rule === undefined ? {} : { rule }) }
}
