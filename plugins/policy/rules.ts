import type { Config } from '../../src/plugin.ts'
import { BoundedMap, compileGlobs } from '../../src/plugin.ts'
import type { Analysis, Mistake } from './analysis.ts'
import type { Expression } from './expression.ts'
import { ExpressionCompiler } from './expression.ts'
import type { SubjectKind, Variable } from './expression-variables.ts'

/** Effects of rules, in the order in which they count. */
export const EFFECTS = ['deny', 'require', 'allow', 'ask'] as const
type Effect = (typeof EFFECTS)[number]

export type PolicyConfig = NonNullable<Config['policy']>

/** Tools that are remembered with their rules. */
const MAX_FITTED = 10_000

/** A rule, ready to be asked. */
export interface PolicyRule {
  readonly effect: Effect
  readonly name: string
  readonly expression: Expression
  /** Names of tools that it is about; undefined for all. */
  readonly isFor: ((name: string) => boolean) | undefined
  /** Kinds of things that it is about; undefined for everything. */
  readonly kinds: ReadonlySet<SubjectKind> | undefined
  readonly isListable: boolean
  readonly scopes: readonly string[]
}

/** Rules that fit one thing, by effect. */
export type ApplicableRules = Readonly<Record<Effect, readonly PolicyRule[]>> & {
  /** Those of `deny`, then those of `require`. */
  readonly refusing: readonly PolicyRule[]
  /** Variables that any of them reads. */
  readonly reads: ReadonlySet<Variable>
}

/** A rule that cannot be used, by its place in the section. */
interface RuleFlaw {
  readonly pointer: string
  readonly message: string
  readonly hint: string | undefined
}

/** Subject of a call: its kind, and its names. Undefined kinds are methods that nobody knows. */
export interface RuleSubject {
  readonly kind: SubjectKind | undefined
  /** Name that clients use. */
  readonly name: string
  /** Name in lists where that is another one, as behind a route. */
  readonly listed?: string | undefined
}

/** Compiles all rules of a section, with what is wrong in them. */
export function compileRules(policy: PolicyConfig): { rules: PolicyRule[]; flaws: RuleFlaw[] } {
  const compiler = new ExpressionCompiler()
  const rules: PolicyRule[] = []
  const flaws: RuleFlaw[] = []
  for (const effect of EFFECTS)
    policy[effect].forEach((written, index) => {
      const spec = typeof written === 'string' ? { when: written } : written
      const place = `${effect}/${index}`
      const pointer = typeof written === 'string' ? place : `${place}/when`
      const compiled = compiler.compile(spec.when)
      if ('mistakes' in compiled) {
        flaws.push(...compiled.mistakes.map(mistake => toFlaw(mistake, pointer, spec.when)))
        return
      }
      flaws.push(...findFlaws(spec, effect, compiled.expression.analysis, { place, pointer }))
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

/** Flaws of a rule whose expression alone is well. */
function findFlaws(
  { for: names, scopes = [] }: RuleSpec,
  effect: Effect,
  { bareArgument, kinds }: Analysis,
  { place, pointer }: { readonly place: string; readonly pointer: string },
): RuleFlaw[] {
  const flaws: RuleFlaw[] = []
  if (bareArgument !== undefined && names === undefined)
    flaws.push(createBareArgumentFlaw(bareArgument, pointer))
  if (scopes.length > 0 && effect === 'ask')
    flaws.push({
      pointer: `${place}/scopes`,
      message: 'a rule of "ask" has no scopes',
      hint: 'use "require"',
    })
  if (names !== undefined && kinds?.has('tools') === false)
    flaws.push({
      pointer: `${place}/for`,
      message: '"for" names tools, and the expression is about something else',
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
    message: `args.${argument} is read for every tool, and would fail where a tool has no such argument`,
    hint: `say for which tools: { for: "<name>", when: … }, or write has(args.${argument}) or args.?${argument}.orValue(…)`,
  }
}

/** The rules by what they are about: a call costs what its few rules cost, however many there are. */
export class RuleIndex {
  readonly rules: readonly PolicyRule[]
  readonly hasAllow: boolean
  readonly #fitting = new BoundedMap<string, ApplicableRules>({ max: MAX_FITTED })

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules
    this.hasAllow = rules.some(({ effect }) => effect === 'allow')
  }

  findApplicable(subject: RuleSubject): ApplicableRules {
    // Rules say names of tools alone.
    const key =
      subject.kind === 'tools' ? `tools ${subject.name} ${subject.listed ?? ''}` : String(subject.kind)
    let found = this.#fitting.get(key)
    if (found === undefined) {
      found = groupRules(this.rules.filter(rule => isApplicable(rule, subject)))
      this.#fitting.set(key, found)
    }
    return found
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
