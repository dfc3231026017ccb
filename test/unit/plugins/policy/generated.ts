import fc from 'fast-check'
import type { PolicyConfig } from '../../../../plugins/policy/policy-judge.ts'

/** A call as the policy and the oracle see it. */
export interface GeneratedCall {
  readonly tool: string
  readonly subject: string
  readonly groups: readonly string[]
  readonly scopes: readonly string[]
  readonly readOnly: boolean | undefined
  readonly trusted: boolean
  readonly via: string
  readonly args: Record<string, unknown>
}

export interface GeneratedCase {
  readonly policy: PolicyConfig
  readonly calls: readonly GeneratedCall[]
}

const TOOLS = ['fs__read', 'fs__write', 'db__query', 'mail__send']
const GROUPS = ['eng', 'ops', 'sales']
const SCOPES = ['a:read', 'a:write']
const WORDS = ['/srv/x', '/etc/passwd', 'EUR', 'x', '', 'ünï']

const text = fc.constantFrom(...WORDS).map(word => JSON.stringify(word))
const number = fc.constantFrom('0.0', '1.0', '100.0', '-5.5', '7', '100')

/**
 * Values of one argument, of any type: what a caller sends fits no schema. None is null: has() of one is true by the specification,
 * and false to the oracle.
 */
const value = fc.oneof(
  fc.constantFrom<unknown>(...WORDS),
  fc.constantFrom<unknown>(0, 1, 7, 100, 100.5, -5.5),
  fc.boolean(),
  fc.array(fc.constantFrom<unknown>(...WORDS), { maxLength: 4 }),
  fc.record({ deep: fc.constantFrom<unknown>(...WORDS, 1) }),
)

const args = fc.dictionary(fc.constantFrom('path', 'amount', 'to', 'map'), value, {
  maxKeys: 4,
  noNullPrototype: true,
})

const argument = fc.constantFrom('args.path', 'args.amount', 'args.to', 'args.map', 'args.map.deep')

const atom = fc.oneof(
  fc.constantFrom('true', 'false'),
  fc.tuple(argument, fc.constantFrom('==', '!='), text).map(([left, op, right]) => `${left} ${op} ${right}`),
  fc
    .tuple(argument, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), number)
    .map(([left, op, right]) => `${left} ${op} ${right}`),
  fc
    .tuple(argument, fc.constantFrom('startsWith', 'endsWith', 'contains'), text)
    .map(([left, name, right]) => `${left}.${name}(${right})`),
  argument.map(left => `has(${left})`),
  argument.map(left => `size(${left}) > 1`),
  fc.tuple(text, argument).map(([left, right]) => `${left} in ${right}`),
  fc.constantFrom(...GROUPS).map(group => `${JSON.stringify(group)} in principal.groups`),
  fc.constantFrom('alice', 'bob').map(name => `principal.subject == ${JSON.stringify(name)}`),
  fc.constantFrom(...TOOLS).map(name => `tool.name == ${JSON.stringify(name)}`),
  fc.constantFrom('tool.annotations.readOnlyHint', 'has(tool.annotations.readOnlyHint)', 'upstream.trusted'),
  fc.constantFrom('agent', 'http').map(via => `client.via == ${JSON.stringify(via)}`),
  fc
    .tuple(
      fc.constantFrom('exists', 'all', 'exists_one'),
      fc.constantFrom('args.to', 'args.map', 'principal.groups'),
      text,
    )
    .map(([loop, range, right]) => `${range}.${loop}(x, x == ${right})`),
  fc
    .tuple(fc.constantFrom('args.to', 'principal.groups'), text)
    .map(([range, right]) => `${range}.filter(x, x != ${right}).size() > 1`),
)

const expression = fc.letrec<{ any: string }>(tie => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    atom,
    fc
      .tuple(tie('any'), fc.constantFrom('&&', '||'), tie('any'))
      .map(([left, op, right]) => `(${left} ${op} ${right})`),
    tie('any').map(inner => `!(${inner})`),
    fc.tuple(tie('any'), tie('any'), tie('any')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
  ),
})).any

const rule = fc.record({
  for: fc.constantFrom('*', 'fs__*', 'db__query', '*__{read,send}'),
  when: expression,
})
const scoped = fc.oneof(
  { weight: 4, arbitrary: rule },
  {
    weight: 1,
    arbitrary: fc
      .tuple(rule, fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 2 }))
      .map(([one, scopes]) => ({ ...one, scopes })),
  },
)

const policy: fc.Arbitrary<PolicyConfig> = fc.record({
  deny: fc.array(scoped, { maxLength: 3 }),
  require: fc.array(scoped, { maxLength: 2 }),
  allow: fc.array(scoped, { maxLength: 3 }),
  ask: fc.array(rule, { maxLength: 2 }),
  headers: fc.constant([]),
})

const call: fc.Arbitrary<GeneratedCall> = fc.record({
  tool: fc.constantFrom(...TOOLS),
  subject: fc.constantFrom('alice', 'bob'),
  groups: fc.uniqueArray(fc.constantFrom(...GROUPS)),
  scopes: fc.uniqueArray(fc.constantFrom(...SCOPES)),
  readOnly: fc.constantFrom(true, false, undefined),
  trusted: fc.boolean(),
  via: fc.constantFrom('http', 'agent'),
  args,
})

/** A policy with calls to judge by it. */
export const generatedCase: fc.Arbitrary<GeneratedCase> = fc.record({
  policy,
  calls: fc.array(call, { minLength: 3, maxLength: 3 }),
})
