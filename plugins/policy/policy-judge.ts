import type { Metric } from '../../src/plugin.ts'
import { normalizeAuthority } from '../../src/plugin.ts'
import type { Facts } from './expression-variables.ts'
import { createFacts, parseScheme } from './expression-variables.ts'
import type { ApplicableRules, PolicyRule } from './rules.ts'

/** Counts decisions and failed rules; outlives reloads. */
export class PolicyCounts {
  readonly decisions: Record<PolicyVerdict['effect'], number> = { allow: 0, deny: 0, ask: 0 }
  readonly failures = new Map<string, number>()

  countDecision({ effect }: PolicyVerdict): void {
    this.decisions[effect]++
  }

  /** Rule names are configured, so there are few. */
  countFailure(rule: string): void {
    this.failures.set(rule, (this.failures.get(rule) ?? 0) + 1)
  }
}

export function collectFigures({ decisions, failures }: PolicyCounts, rules: number): Metric[] {
  return [
    {
      name: 'tapgate_policy_decisions',
      type: 'counter',
      help: 'Policy decisions by effect.',
      samples: Object.entries(decisions).map(([effect, value]) => ({
        suffix: '_total',
        labels: { effect },
        value,
      })),
    },
    {
      name: 'tapgate_policy_rule_failures',
      type: 'counter',
      help: 'Failed evaluations of policy rules; the stricter outcome applies.',
      samples: [...failures].map(([rule, value]) => ({ suffix: '_total', labels: { rule }, value })),
    },
    {
      name: 'tapgate_policy_rules',
      type: 'gauge',
      help: 'Policy rules.',
      samples: [{ value: rules }],
    },
  ]
}

/** Decision about a call. A denial names its rule, unless no `allow` rule matched. */
export type PolicyVerdict =
  | { readonly effect: 'allow' }
  | { readonly effect: 'ask'; readonly rule: string }
  | {
      readonly effect: 'deny'
      readonly rule: string | undefined
      /** Scopes that would allow the call. */
      readonly scopes?: readonly string[]
    }

/** Called if a rule fails. */
type RuleFailureListener = (rule: PolicyRule, error: unknown) => void

const ALLOW: PolicyVerdict = { effect: 'allow' }
const NONE: readonly string[] = []

/** Facts and scopes to judge. */
interface PolicySubject {
  readonly facts: Facts
  readonly scopes: readonly string[]
}

/** Judges calls. A failing rule counts against the caller. */
export class PolicyJudge {
  readonly #hasAllow: boolean
  readonly #onFailure: RuleFailureListener

  constructor(hasAllow: boolean, failed: RuleFailureListener) {
    this.#hasAllow = hasAllow
    this.#onFailure = failed
  }

  /** Decides in order: deny, ask, allow. Denied calls are never asked about. */
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

  /** Finds the fewest missing scopes that would satisfy `allow`; undefined if none would. */
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

  /** Returns true if an entry is listed. Rules that need a call or a scope do not hide it. */
  shouldList(rules: ApplicableRules, subject: PolicySubject): boolean {
    const decides = (rule: PolicyRule): boolean => rule.isListable && rule.scopes.length === 0
    if (rules.deny.some(rule => decides(rule) && this.#evaluateRule(rule, subject, true))) return false
    if (rules.require.some(rule => decides(rule) && !this.#evaluateRule(rule, subject, false))) return false
    return !this.#hasAllow || rules.allow.some(rule => !rule.isListable || this.#evaluateRule(rule, subject, false))
  }

  /** Evaluates a rule; returns `strict` if it fails. */
  #evaluateRule(rule: PolicyRule, { facts }: PolicySubject, strict: boolean): boolean {
    try {
      const result = rule.expression.evaluate(facts)
      // A server may treat another spelling of a URI as the same resource, so a restriction must hold for both.
      const fallback =
        rule.effect === 'allow' || result !== (rule.effect === 'require') ? undefined : normalizeFacts(facts)
      return fallback === undefined ? result : rule.expression.evaluate(fallback)
    } catch (error) {
      this.#onFailure(rule, error)
      return strict
    }
  }
}

/** Replaces the resource's URI by its normalized form; undefined if it is the same. */
function normalizeFacts(facts: Facts): Facts | undefined {
  if (facts.resource === undefined) return undefined
  const resource = facts.resource as Readonly<Record<'uri' | 'original', string>>
  const [uri, original] = [normalizeAuthority(resource.uri), normalizeAuthority(resource.original)]
  if (uri === resource.uri && original === resource.original) return undefined
  return { ...facts, resource: createFacts('resource', { uri, original, scheme: parseScheme(uri) }) }
}

/** Lists missing scopes; undefined for a rule without scopes. */
function listMissingScopes({ scopes }: PolicyRule, own: readonly string[]): readonly string[] | undefined {
  return scopes.length === 0 ? undefined : scopes.filter(scope => !own.includes(scope))
}
