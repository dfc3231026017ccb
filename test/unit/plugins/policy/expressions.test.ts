import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkPolicy } from '../../../../plugins/policy/index.ts'
import { ExpressionCompiler, type Expression } from '../../../../plugins/policy/expression.ts'
import { createFacts, type Facts } from '../../../../plugins/policy/expression-variables.ts'

function compiled(text: string): Expression {
  const result = new ExpressionCompiler().compile(text)
  if ('mistakes' in result) assert.fail(`${text}: ${result.mistakes.map(({ message }) => message).join('; ')}`)
  return result.expression
}

function refusal(text: string): string | undefined {
  const result = new ExpressionCompiler().compile(text)
  return 'mistakes' in result ? (result.mistakes[0]?.message ?? '') : undefined
}

function facts(args: object = {}, more: { subject?: string; now?: Date } = {}): Facts {
  return {
    principal: createFacts('principal', {
      authenticated: true,
      issuer: 'https://issuer',
      subject: more.subject ?? 'alice',
      client: 'cli',
      scopes: ['files:read'],
      groups: ['eng'],
      claims: { acr: 'urn:mfa' },
      key: '',
    }),
    client: createFacts('client', { name: 'cursor', version: '1', era: 'modern', via: 'http', listener: 'main' }),
    tool: createFacts('tool', { name: 'files__read', original: 'read', annotations: { readOnlyHint: true } }),
    prompt: createFacts('prompt', {}),
    resource: createFacts('resource', {}),
    upstream: createFacts('upstream', { name: 'files', tags: ['internal'], trusted: true }),
    session: createFacts('session', { id: 's', label: 'l', calls: 3n }),
    request: createFacts('request', { headers: { 'x-team': 'eng' } }),
    pin: createFacts('pin', { status: 'unknown' }),
    args,
    method: 'tools/call',
    phase: 'call',
    now: more.now ?? new Date('2026-11-22T12:00:00Z'),
  }
}

/** Expressions that could take a gateway down, or mean something else than they say. */
const HOSTILE: readonly string[] = [
  'args.?x.orValue("").matches("(a+)+$")',
  'args.xs.exists(a, args.xs.exists(b, a == b))',
  'args.xs.map(a, [a, a]).map(a, [a, a]).size() > 0',
  'cel.bind(a, args.s + args.s, cel.bind(b, a + a, b.size() > 0))',
  'args.?a.orValue("").re(args.?p.orValue(""))',
  'args.?a.orValue("").re("(a{1000}){1000}")',
  `args.?a.orValue("").re("${'(a|b)'.repeat(120)}")`,
  'args.?a.orValue("").re("(?=x)")',
  'args.?a.orValue("").glob(args.?p.orValue(""))',
  'args.?hay.orValue("").contains(args.?needle.orValue(""))',
  'args.?words.orValue([]).exists(w, args.?hay.orValue("").contains(w))',
  'args.?a.orValue("").split("").size() > 0',
  'bytes(args.?a.orValue("")).json() == {}',
  'now.getHours(args.?tz.orValue("UTC")) > 8',
  'now.getHours("Europe/Nowhere") > 8',
  'timestamp(args.?t.orValue("")) > now',
  'dyn(principal).secret == 1',
  'type(args) == map',
  `[${'1,'.repeat(250)}1].size() > 0`,
  `${'('.repeat(60)}true${')'.repeat(60)}`,
  Array.from({ length: 300 }, (_, index) => `args.?a.orValue(0) == ${index}`).join(' || '),
  'args.?xs.orValue([]).exists(args, args == 1)',
  'principal.password == "x"',
  'principle.subject == "x"',
  'constructor.constructor("return 1")() == 1',
  'principal[args.?k.orValue("subject")] == "x"',
  '"true"',
  'size(args)',
  '',
  'optional.of(args).hasValue()',
]

test('an expression that could hang the gateway, or reads what is not there, is refused when it is loaded', () => {
  for (const text of HOSTILE) assert.notEqual(refusal(text), undefined, text)
  // One whose value is neither true nor false fails when it is asked.
  assert.throws(() => compiled('args.?a.orValue("")').evaluate(facts({ a: 'x' })), /neither true nor false/)
})

describe('the expressions of the documentation', () => {
  const cases: readonly [text: string, args: object, value: boolean | 'fails'][] = [
    ['principal.authenticated && "eng" in principal.groups', {}, true],
    ['upstream.trusted && tool.annotations.?readOnlyHint.orValue(false)', {}, true],
    ['args.?path.orValue("").within("/srv/projects/" + principal.subject)', { path: '/srv/projects/alice/a' }, true],
    [
      'args.?path.orValue("").within("/srv/projects/" + principal.subject)',
      { path: '/srv/projects/alice/../bob' },
      false,
    ],
    [
      'args.?url.orValue("").host() in ["api.github.com", "docs.example.com"]',
      { url: 'https://API.github.com./x' },
      true,
    ],
    ['args.?url.orValue("").host() in ["api.github.com"]', { url: 'https://api.github.com@evil.com/' }, 'fails'],
    ['args.?url.orValue("").host() in ["api.github.com"]', { url: 'https://evil.com\\@api.github.com/' }, 'fails'],
    ['args.query.re("(?i)^\\\\s*(select|with)\\\\b")', { query: '  SELECT 1' }, true],
    ['args.query.re("(?i)^\\\\s*(select|with)\\\\b")', { query: 'drop table x' }, false],
    ['has(args.to) && args.to.exists(a, !a.endsWith("@example.com"))', { to: ['a@example.com', 'b@x.org'] }, true],
    ['args.size_bytes() > 65536', { x: 'y'.repeat(65536) }, true],
    ['now.getHours("Europe/Berlin") < 8 || now.getHours("Europe/Berlin") > 18', {}, false],
    ['args.amount > 100.0 || args.currency != "EUR"', { amount: 101 }, true],
    ['args.amount > 100.0 || args.currency != "EUR"', { amount: 1 }, 'fails'],
    ['tool.annotations.?destructiveHint.orValue(true) && !("on-call" in principal.groups)', {}, true],
    ['tool.name == "deploy" && args.env == "prod" && principal.claims.?acr.orValue("") != "urn:mfa"', {}, false],
    ['session.calls > 2 && request.headers.?x_team.orValue("") == ""', {}, true],
    ['args.?xs.orValue([]).filter(x, x > 1.0).exists(x, x == 3.0)', { xs: [1, 3] }, true],
    ['args.?path.orValue("").glob("/srv/*")', { path: '/srv/a/b' }, true],
    ['pin.status == "unknown" && phase == "call" && method == "tools/call"', {}, true],
  ]
  for (const [text, args, value] of cases)
    test(`${text} of ${JSON.stringify(args).slice(0, 60)} is ${value}`, () => {
      const expression = compiled(text)
      if (value === 'fails') assert.throws(() => expression.evaluate(facts(args)))
      else assert.equal(expression.evaluate(facts(args)), value)
    })
})

test('going over arguments stops where there are too many items, or too much to compare each with', () => {
  const many = compiled('args.?xs.orValue([]).exists(x, x == "y")')
  assert.equal(many.evaluate(facts({ xs: Array.from({ length: 9000 }, () => 'x') })), false)
  assert.throws(() => many.evaluate(facts({ xs: Array.from({ length: 10_001 }, () => 'x') })), /more than 10000 items/)
  const crossing = compiled('args.?xs.orValue([]).exists(x, args.?s.orValue("").endsWith(x))')
  assert.equal(crossing.evaluate(facts({ xs: ['a', 'b'], s: 'ab' })), true)
  assert.throws(
    () => crossing.evaluate(facts({ xs: Array.from({ length: 5000 }, () => 'x'), s: 'y'.repeat(50_000) })),
    /too long/,
  )
})

test('an expression about the caller is asked anew for each other caller, and whenever it failed', () => {
  const isAlice = compiled('principal.subject == "alice"')
  const [alice, bob] = [facts(), facts({}, { subject: 'bob' })]
  assert.deepEqual(
    [alice, bob, alice, bob, bob, alice].map(one => isAlice.evaluate(one)),
    [true, false, true, false, false, true],
  )
  const both = compiled('principal.subject == "alice" && tool.name == "files__read"')
  const other = { ...alice, tool: createFacts('tool', { name: 'files__write', original: 'write' }) }
  assert.deepEqual(
    [alice, other, alice, { ...other, principal: bob.principal }].map(one => both.evaluate(one)),
    [true, false, true, false],
  )
  const fails = compiled('principal.claims.age > 17')
  assert.throws(() => fails.evaluate(alice))
  assert.throws(() => fails.evaluate(alice))
})

test('a regular expression does a bounded amount of work', () => {
  const expression = compiled('args.?s.orValue("").re("(a|aa|aaa)*b")')
  assert.equal(expression.evaluate(facts({ s: 'aab' })), true)
  assert.throws(() => expression.evaluate(facts({ s: 'a'.repeat(5_000_000) })), /too long for re/)
})

test('a subject that could lead out of its directory is no part of a path', () => {
  const expression = compiled('args.?path.orValue("").within("/srv/" + principal.subject)')
  for (const subject of ['../etc', 'a/b', '', '..', 'a\\b'])
    assert.throws(() => expression.evaluate(facts({ path: '/srv/x' }, { subject })), /part of a path/, subject)
})

test('members that objects inherit are not there', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    assert.equal(compiled(`has(args.${name})`).evaluate(facts({ a: 1 })), false)
    assert.throws(() => compiled(`"x" in args && args.${name} == 1`).evaluate(facts({ x: 1 })))
  }
})

function findings(
  policy: object,
  more: object = {},
): { pointer: string; message: string; hint?: string | undefined }[] {
  const found: { pointer: string; message: string; hint?: string | undefined }[] = []
  checkPolicy({ policy, ...more }, finding => found.push(finding))
  return found
}

describe('a configuration', () => {
  test('with an unknown variable or field is pointed at, with the one that was meant', () => {
    const [variable, field, method] = findings({
      deny: ['principle.subject == "x"', { for: '*', when: 'principal.subjct == "x"' }],
      allow: ['tool.name.startWith("x")'],
    })
    assert.deepEqual(
      [variable, field, method].map(one => [one?.pointer, one?.hint]),
      [
        ['/policy/deny/0', 'did you mean "principal"?'],
        ['/policy/deny/1/when', 'did you mean "subject"?'],
        ['/policy/allow/0', 'did you mean "startsWith"?'],
      ],
    )
  })

  test('that reads an argument of every tool is refused, unless it asks for it or names the tool', () => {
    const [bare, ...others] = findings({ deny: ['args.path == "x"'] })
    assert.match(bare?.message ?? '', /args\.path is read for every tool/)
    assert.match(bare?.hint ?? '', /for:/)
    assert.deepEqual(others, [])
    for (const when of [
      'has(args.path) && args.path == "x"',
      '!has(args.path) || args.path == "x"',
      'has(args.path) ? args.path == "x" : false',
      '"path" in args && args.path == "x"',
      'args.?path.orValue("") == "x"',
      'tool.name == "a" && args.path == "x"',
      'args.path == "x" && has(args.path)',
      'size(args) > 3',
    ])
      assert.deepEqual(findings({ deny: [when] }), [], when)
    for (const when of ['has(args.other) && args.path == "x"', 'args["path"] == "x"'])
      assert.equal(findings({ deny: [when] }).length, 1, when)
  })

  test('with scopes of an ask, or tools for a prompt, is refused', () => {
    assert.equal(findings({ ask: [{ when: 'true', scopes: ['a'] }] }).length, 1)
    assert.equal(findings({ deny: [{ for: 'a', when: 'prompt.name == "x"' }] }).length, 1)
  })
})
