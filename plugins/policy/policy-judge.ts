import type { Metric, Config } from '../../src/plugin.ts'
import { normalizeAuthority, BoundedMap, compileGlobs } from '../../src/plugin.ts'
import type { Analysis, Mistake } from './analyze-expression.ts'
import type { Facts, SubjectKind, Variable } from './expression-variables.ts'
import { createFacts, parseScheme } from './expression-variables.ts'
import type { Expression } from './expression.ts'
import { ExpressionCompiler } from './expression.ts'

/** Effects in evaluation order. */
const EFFECTS = ['deny', 'require', 'allow', 'ask'] as const
type Effect = (typeof EFFECTS)[number]

export type PolicyConfig = NonNullable<Config['policy']>

/** Maximum cached subjects. */
const MAX_FITTED = 10_000

/** A compiled rule. */
export interface PolicyRule {
  readonly effect: Effect
  readonly name: string
  readonly expression: Expression
  /** Tool names that it applies to; undefined for all. */
  readonly isFor: ((name: string) => boolean) | undefined
  /** Kinds that it applies to; undefined for all. */
  readonly kinds: ReadonlySet<SubjectKind> | undefined
  readonly isListable: boolean
  readonly scopes: readonly string[]
}

/** Rules that apply to one subject, by effect. */
type ApplicableRules = Readonly<Record<Effect, readonly PolicyRule[]>> & {
  /** `deny` rules, then `require` rules. */
  readonly refusing: readonly PolicyRule[]
  /** Variables that the rules read. */
  readonly reads: ReadonlySet<Variable>
}

/** An invalid rule with its pointer in the section. */
interface RuleFlaw {
  readonly pointer: string
  readonly message: string
  readonly hint: string | undefined
}

/** Call subject. Unknown methods have no kind. */
export interface RuleSubject {
  readonly kind: SubjectKind | undefined
  /** Name that clients use. */
  readonly name: string
  /** Listed name if it differs, such as after a route. */
  readonly listed?: string | undefined
}

/** Compiles a section's rules, and collects their flaws. */
export function compileRules(policy: PolicyConfig): { rules: PolicyRule[]; flaws: RuleFlaw[] } {
  const compiler = new ExpressionCompiler()
  const rules: PolicyRule[] = []
  const flaws: RuleFlaw[] = []
  for (const effect of EFFECTS)
    policy[effect].forEach((written, index) => {
      const spec = typeof written === 'string' ? { when: written } : written
      const path = `${effect}/${index}`
      const pointer = typeof written === 'string' ? path : `${path}/when`
      const compiled = compiler.compile(spec.when)
      if ('mistakes' in compiled) {
        flaws.push(...compiled.mistakes.map(mistake => toFlaw(mistake, pointer, spec.when)))
        return
      }
      flaws.push(...findFlaws(spec, effect, compiled.expression.analysis, { path, pointer }))
      rules.push(createRule(spec, effect, `${effect}[${index}]`, compiled.expression))
    })
  return { rules, flaws }
}

type RuleSpec = Exclude<PolicyConfig['deny'][number], string>

function createRule(spec: RuleSpec, effect: Effect, unnamed: string, expression: Expression): PolicyRule {
  const { for: names, name = unnamed, scopes = [] } = spec
  const { kinds, isListable } = expression.analysis
  return {
    effect,
    name,
    expression,
    isFor: names === undefined ? undefined : compileGlobs(names),
    kinds: names === undefined ? kinds : TOOLS,
    isListable,
    scopes,
  }
}

/** Finds flaws in a rule with a valid expression. */
function findFlaws(
  { for: names, scopes = [] }: RuleSpec,
  effect: Effect,
  { bareArgument, kinds }: Analysis,
  { path, pointer }: { readonly path: string; readonly pointer: string },
): RuleFlaw[] {
  const flaws: RuleFlaw[] = []
  if (bareArgument !== undefined && names === undefined) flaws.push(createBareArgumentFlaw(bareArgument, pointer))
  if (scopes.length > 0 && effect === 'ask')
    flaws.push({
      pointer: `${path}/scopes`,
      message: '"ask" rules cannot have scopes',
      hint: 'use "require"',
    })
  if (names !== undefined && kinds?.has('tools') === false)
    flaws.push({
      pointer: `${path}/for`,
      message: '"for" names tools, but the expression applies to something else',
      hint: 'compare prompt.name or resource.uri in "when"',
    })
  return flaws
}

const TOOLS: ReadonlySet<SubjectKind> = new Set(['tools'])

function toFlaw({ message, hint, at }: Mistake, pointer: string, text: string): RuleFlaw {
  const column = at === undefined || text.length < 40 ? '' : ` (character ${at + 1})`
  return { pointer, message: `${message}${column}`, hint }
}

function createBareArgumentFlaw(argument: string, pointer: string): RuleFlaw {
  return {
    pointer,
    message: `args.${argument} is read for every tool, and fails for tools without this argument`,
    hint: `limit the rule to tools: { for: "<name>", when: … }, or use has(args.${argument}) or args.?${argument}.orValue(…)`,
  }
}

/** Caches applicable rules by subject, so that a call evaluates only these. */
export class RuleIndex {
  readonly rules: readonly PolicyRule[]
  readonly hasAllow: boolean
  readonly #fitting = new BoundedMap<string, ApplicableRules>({ max: MAX_FITTED })

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules
    this.hasAllow = rules.some(({ effect }) => effect === 'allow')
  }

  findApplicable(subject: RuleSubject): ApplicableRules {
    // Only tools are selected by name.
    const key = subject.kind === 'tools' ? `tools ${subject.name} ${subject.listed ?? ''}` : String(subject.kind)
    let rules = this.#fitting.get(key)
    if (rules === undefined) {
      rules = groupRules(this.rules.filter(rule => isApplicable(rule, subject)))
      this.#fitting.set(key, rules)
    }
    return rules
  }
}

function isApplicable({ kinds, isFor }: PolicyRule, { kind, name, listed }: RuleSubject): boolean {
  if (kinds !== undefined && !listSubjects(kind).some(one => kinds.has(one))) return false
  return isFor === undefined || isFor(name) || (listed !== undefined && isFor(listed))
}

/** Skill files are resources as well. */
function listSubjects(kind: SubjectKind | undefined): readonly SubjectKind[] {
  if (kind === undefined) return []
  return kind === 'skills' ? ['skills', 'resources'] : [kind]
}

function groupRules(rules: readonly PolicyRule[]): ApplicableRules {
  const by = (effect: Effect): readonly PolicyRule[] => rules.filter(rule => rule.effect === effect)
  return {
    refusing: [...by('deny'), ...by('require')],
    deny: by('deny'),
    ask: by('ask'),
    require: by('require'),
    allow: by('allow'),
    reads: new Set(rules.flatMap(({ expression }) => [...expression.analysis.reads])),
  }
}

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
  const count = (label: string, rows: Iterable<readonly [string, number]>): Metric['samples'] =>
    Array.from(rows, ([name, value]) => ({ suffix: '_total', labels: { [label]: name }, value }))
  return [
    {
      name: 'tapgate_policy_decisions',
      type: 'counter',
      help: 'Policy decisions by effect.',
      samples: count('effect', Object.entries(decisions)),
    },
    {
      name: 'tapgate_policy_rule_failures',
      type: 'counter',
      help: 'Failed evaluations of policy rules; the stricter outcome applies.',
      samples: count('rule', failures),
    },
    { name: 'tapgate_policy_rules', type: 'gauge', help: 'Policy rules.', samples: [{ value: rules }] },
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
