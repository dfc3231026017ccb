import { run } from '@bufbuild/cel'
import { runCases } from '../../../../plugins/policy/policy-cases.ts'
import type { Config } from '../../../../src/config/index.ts'
import type { PolicyConfig } from '../../../../plugins/policy/policy-judge.ts'
import type { GeneratedCall, GeneratedCase } from './generated.ts'

type RuleSpec = Exclude<PolicyConfig['deny'][number], string>

/** Outcome of a call, in a word and with the scopes that would help. */
interface Outcome {
  readonly effect: string
  readonly scopes: readonly string[]
}

/** Compares the plugin with the oracle on every call; the first difference as text, or undefined. */
export function difference({ policy, calls }: GeneratedCase): string | undefined {
  const config = { policy, upstreams: {} } as unknown as Config
  const results = runCases(calls.map(caseOf), config)
  for (const [index, call] of calls.entries()) {
    const expected = judged(policy, call)
    const { effect = '', scopes = [] } = results[index] ?? {}
    const isSame = effect === expected.effect && scopes.length === expected.scopes.length
    if (!isSame || ![...scopes].sort().every((one, at) => one === [...expected.scopes].sort()[at]))
      return JSON.stringify({ policy, call, expected, got: results[index] })
  }
  return undefined
}

function caseOf(call: GeneratedCall): object {
  const { tool, subject, groups, scopes, readOnly, via, args } = call
  return {
    tool,
    principal: { subject, groups, scopes },
    client: { via },
    annotations: readOnly === undefined ? {} : { readOnlyHint: readOnly },
    args,
    effect: 'allow',
  }
}

/** The verdict by the words of the documentation, each rule evaluated by another implementation of CEL. */
function judged(policy: PolicyConfig, call: GeneratedCall): Outcome {
  const has = (rule: RuleSpec): boolean | undefined =>
    rule.scopes === undefined ? undefined : rule.scopes.every(scope => call.scopes.includes(scope))
  const lacks = (rules: readonly RuleSpec[]): string[] => [
    ...new Set(rules.flatMap(rule => rule.scopes ?? []).filter(scope => !call.scopes.includes(scope))),
  ]
  const fitting = (effect: 'deny' | 'require' | 'allow' | 'ask'): RuleSpec[] =>
    (policy[effect] as readonly RuleSpec[]).filter(rule => fits(rule, call.tool))
  const refusing = [
    ...fitting('deny').filter(rule => valueOf(rule, call) !== false),
    ...fitting('require').filter(rule => valueOf(rule, call) !== true),
  ].filter(rule => has(rule) !== true)
  if (refusing.some(rule => rule.scopes === undefined)) return { effect: 'deny', scopes: [] }
  const wanted = lacks(refusing)
  if (policy.allow.length > 0) {
    const open = fitting('allow').filter(rule => valueOf(rule, call) === true)
    if (open.length === 0) return { effect: 'deny', scopes: [] }
    const cheapest = open.map(rule => lacks([rule])).sort((a, b) => a.length - b.length)[0] ?? []
    wanted.push(...cheapest.filter(scope => !wanted.includes(scope)))
  }
  if (wanted.length > 0) return { effect: 'deny', scopes: wanted }
  return { effect: fitting('ask').some(rule => valueOf(rule, call) !== false) ? 'ask' : 'allow', scopes: [] }
}

/** The globs that are generated, as somebody would read them. */
function fits({ for: names }: RuleSpec, tool: string): boolean {
  switch (names) {
    case 'fs__*':
      return tool.startsWith('fs__')
    case '*__{read,send}':
      return tool.endsWith('__read') || tool.endsWith('__send')
    default:
      return names === '*' || names === tool
  }
}

/** True, false, or undefined where the expression has no value. */
function valueOf({ when }: RuleSpec, call: GeneratedCall): boolean | undefined {
  const { tool, subject, groups, readOnly, via, args } = call
  const principal = new Map<string, unknown>(Object.entries({ subject, groups }))
  const annotations = new Map(readOnly === undefined ? [] : [['readOnlyHint', readOnly]])
  const bindings = {
    principal,
    client: new Map([['via', via]]),
    tool: new Map<string, unknown>(Object.entries({ name: tool, annotations })),
    upstream: new Map([['trusted', false]]),
    args: inMaps(args),
  }
  try {
    const value = run(when, bindings as never)
    return typeof value === 'boolean' ? value : undefined
  } catch {
    return undefined
  }
}

function inMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inMaps)
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, inner]) => [key, inMaps(inner)]))
}
