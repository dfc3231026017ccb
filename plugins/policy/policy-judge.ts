import type { Figure } from '../../src/plugin.ts'
import { normalizeAuthority } from '../../src/plugin.ts'
import type { Facts } from './expression-variables.ts'
import { ResourceFacts } from './expression-variables.ts'
import type { ApplicableRules, PolicyRule } from './rules.ts'

/** Numbers of what the rules decided, and of which of them failed. Kept over reloads. */
export class PolicyCounts {
  readonly decisions: Record<PolicyVerdict['effect'], number> = { allow: 0, deny: 0, ask: 0 }
  readonly failures = new Map<string, number>()

  countDecision({ effect }: PolicyVerdict): void {
    this.decisions[effect]++
  }

  /** Names come from the configuration, so there are few. */
  countFailure(rule: string): void {
    this.failures.set(rule, (this.failures.get(rule) ?? 0) + 1)
  }
}

/** The counts as figures of `/metrics`. */
export function collectFigures({ decisions, failures }: PolicyCounts, rules: number): Figure[] {
  return [
    {
      name: 'tapgate_policy_decisions',
      type: 'counter',
      help: 'Calls that the policy judged, by what it decided.',
      samples: Object.entries(decisions).map(([effect, value]) => ({
        suffix: '_total',
        labels: { effect },
        value,
      })),
    },
    {
      name: 'tapgate_policy_rule_failures',
      type: 'counter',
      help: 'Times that a rule of the policy had no value, which counts against the caller.',
      samples: [...failures].map(([rule, value]) => ({ suffix: '_total', labels: { rule }, value })),
    },
    {
      name: 'tapgate_policy_rules',
      type: 'gauge',
      help: 'Rules of the policy.',
      samples: [{ value: rules }],
    },
  ]
}

/** Verdict on a call. A refusal names its rule; none where no rule of `allow` was true. */
export type PolicyVerdict =
  | { readonly effect: 'allow' }
  | { readonly effect: 'ask'; readonly rule: string }
  | {
      readonly effect: 'deny'
      readonly rule: string | undefined
      /** Scopes with which it would be allowed. */
      readonly scopes?: readonly string[]
    }

/** Hears of a rule that had no value. */
type RuleFailureListener = (rule: PolicyRule, error: unknown) => void

const ALLOW: PolicyVerdict = { effect: 'allow' }
const NONE: readonly string[] = []

/** Caller and thing that are judged. */
interface PolicySubject {
  readonly facts: Facts
  readonly scopes: readonly string[]
}

/** Judges calls by their rules. A rule that fails counts against the caller. */
export class PolicyJudge {
  readonly #hasAllow: boolean
  readonly #onFailure: RuleFailureListener

  constructor(hasAllow: boolean, failed: RuleFailureListener) {
    this.#hasAllow = hasAllow
    this.#onFailure = failed
  }

  /** A call: denied, else asked about, else allowed. Nobody is asked about what is refused anyway. */
  judgeCall(rules: ApplicableRules, subject: PolicySubject): PolicyVerdict {
    const missing: string[] = []
    let by: string | undefined
    for (const rule of rules.refusing) {
      if (this.#evaluateRule(rule, subject, rule.effect === 'deny') !== (rule.effect === 'deny')) continue
      const lacks = listMissingScopes(rule, subject.scopes)
      if (lacks === undefined) return { effect: 'deny', rule: rule.name }
      if (lacks.length > 0) by ??= rule.name
      missing.push(...lacks)
    }
    const allowed = this.#hasAllow ? this.#findMissingScopes(rules.allow, subject) : NONE
    if (allowed === undefined) return { effect: 'deny', rule: undefined }
    missing.push(...allowed)
    if (missing.length > 0) return { effect: 'deny', rule: by, scopes: [...new Set(missing)] }
    return this.#findApprovalRule(rules.ask, subject)
  }

  #findApprovalRule(rules: readonly PolicyRule[], subject: PolicySubject): PolicyVerdict {
    const rule = rules.find(one => this.#evaluateRule(one, subject, true))
    return rule === undefined ? ALLOW : { effect: 'ask', rule: rule.name }
  }

  /** The fewest scopes that `allow` still wants; undefined where none would help. */
  #findMissingScopes(rules: readonly PolicyRule[], subject: PolicySubject): readonly string[] | undefined {
    let fewest: readonly string[] | undefined
    for (const rule of rules) {
      if (!this.#evaluateRule(rule, subject, false)) continue
      const lacks = listMissingScopes(rule, subject.scopes) ?? []
      if (lacks.length === 0) return lacks
      if (fewest === undefined || lacks.length < fewest.length) fewest = lacks
    }
    return fewest
  }

  /** Tells whether a thing is listed: rules that need a call, or that a scope would satisfy, leave it there. */
  shouldList(rules: ApplicableRules, subject: PolicySubject): boolean {
    const decides = (rule: PolicyRule): boolean => rule.isListable && rule.scopes.length === 0
    if (rules.deny.some(rule => decides(rule) && this.#evaluateRule(rule, subject, true))) return false
    if (rules.require.some(rule => decides(rule) && !this.#evaluateRule(rule, subject, false))) return false
    return (
      !this.#hasAllow ||
      rules.allow.some(rule => !rule.isListable || this.#evaluateRule(rule, subject, false))
    )
  }

  /** The value of a rule, or the strict one where it has none. */
  #evaluateRule(rule: PolicyRule, { facts }: PolicySubject, strict: boolean): boolean {
    try {
      const result = rule.expression.evaluate(facts)
      // A server may read another spelling of a URI as the same resource: a restriction holds for both.
      const other =
        rule.effect === 'allow' || result !== (rule.effect === 'require') ? undefined : normalizeFacts(facts)
      return other === undefined ? result : rule.expression.evaluate(other)
    } catch (error) {
      this.#onFailure(rule, error)
      return strict
    }
  }
}

/** The same facts with the normalized URI of their resource; undefined if it is the same one. */
function normalizeFacts(facts: Facts): Facts | undefined {
  if (!(facts.resource instanceof ResourceFacts)) return undefined
  const [uri, original] = [facts.resource.uri, facts.resource.original].map(normalizeAuthority)
  if (uri === facts.resource.uri && original === facts.resource.original) return undefined
  return { ...facts, resource: new ResourceFacts(uri, original) }
}

/** The scopes of a rule that a caller lacks; undefined for a rule that has none. */
function listMissingScopes({ scopes }: PolicyRule, own: readonly string[]): readonly string[] | undefined {
  return scopes.length === 0 ? undefined : scopes.filter(scope => !own.includes(scope))
}
