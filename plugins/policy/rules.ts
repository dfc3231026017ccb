import type { Config } from '../../src/plugin.ts'
import { BoundedMap, compileGlobs } from '../../src/plugin.ts'
import type { Analysis, Mistake } from './analyze-expression.ts'
import type { Expression } from './expression.ts'
import { ExpressionCompiler } from './expression.ts'
import type { SubjectKind, Variable } from './expression-variables.ts'

/** Effects in evaluation order. */
export const EFFECTS = ['deny', 'require', 'allow', 'ask'] as const
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
export type ApplicableRules = Readonly<Record<Effect, readonly PolicyRule[]>> & {
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
  if (kinds !== undefined && (kind === undefined || !kinds.has(kind))) return false
  return isFor === undefined || isFor(name) || (listed !== undefined && isFor(listed))
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
