import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCases } from '../../../../plugins/policy/policy-cases.ts'
import { loadConfigObject } from '../../../../src/gateway/load-config.ts'

const CONFIG = loadConfigObject(
  {
    version: 1,
    upstreams: { pay: { type: 'http', url: 'http://127.0.0.1:1/mcp', tags: ['money'], trusted: true } },
    policy: {
      deny: [{ for: 'pay__*', when: 'args.amount > 1000.0', name: 'too-much' }, 'tool.name == "pay__close"'],
      require: [{ for: 'pay__send', when: 'upstream.trusted && "money" in upstream.tags', name: 'trusted' }],
      allow: [{ for: 'pay__*', when: '"eng" in principal.groups', scopes: ['pay'] }],
      ask: [{ for: 'pay__send', when: 'args.amount > 100.0', name: 'large' }],
    },
  },
  { directory: '.' },
).config

const alice = { subject: 'alice', groups: ['eng'], scopes: ['pay'] }

test('cases come out as the rules say, each with the rule and the scopes that decide', () => {
  const results = runCases(
    {
      cases: [
        { tool: 'pay__send', principal: alice, args: { amount: 5 }, effect: 'allow' },
        { tool: 'pay__send', principal: alice, args: { amount: 500 }, effect: 'ask', rule: 'large' },
        { tool: 'pay__send', principal: alice, args: { amount: 5000 }, effect: 'deny', rule: 'too-much' },
        { tool: 'pay__send', principal: alice, args: {}, effect: 'deny', rule: 'too-much' },
        {
          tool: 'pay__send',
          principal: { ...alice, scopes: [] },
          args: { amount: 5 },
          effect: 'deny',
          scopes: ['pay'],
        },
        { tool: 'pay__send', principal: { subject: 'bob' }, args: { amount: 5 }, effect: 'deny' },
        { tool: 'pay__close', principal: alice, effect: 'hidden' },
        { tool: 'pay__send', principal: alice, effect: 'listed' },
      ],
    },
    CONFIG,
  )

  assert.deepEqual(
    results.map(({ isOk }) => isOk),
    results.map(() => true),
    JSON.stringify(results),
  )
  assert.match(results[3]?.note ?? '', /"too-much" failed: No such key: amount/)
})

test('a case that comes out otherwise is not ok, by its effect, its rule or its scopes', () => {
  const results = runCases(
    [
      { tool: 'pay__send', principal: alice, args: { amount: 5 }, effect: 'deny' },
      { tool: 'pay__send', principal: alice, args: { amount: 5000 }, effect: 'deny', rule: 'large' },
      {
        tool: 'pay__send',
        principal: { ...alice, scopes: [] },
        args: { amount: 5 },
        effect: 'deny',
        scopes: ['x'],
      },
      { tool: 'pay__close', principal: alice, effect: 'listed' },
    ],
    CONFIG,
  )

  assert.deepEqual(
    results.map(({ isOk }) => isOk),
    [false, false, false, false],
  )
})

test('a case that cannot be read says what is wrong with it', () => {
  for (const [given, problem] of [
    [[], /no list of cases/],
    ['x', /no list of cases/],
    [[{ tool: 'a' }], /"effect" must be one of/],
    [[{ tol: 'a', effect: 'deny' }], /unknown key "tol" – did you mean "tool"/],
    [
      [{ tool: 'a', effect: 'deny', principal: { subjct: 'a' } }],
      /unknown key "subjct" in principal – did you mean "subject"/,
    ],
    [[{ tool: 'a', effect: 'deny', now: 'soon' }], /invalid time "soon"/],
    [[7], /case 1 is not a map/],
  ] as const)
    assert.throws(() => runCases(given, CONFIG), problem)
})

test('a case may name a skill, and the file of it that is read', () => {
  const { config } = loadConfigObject(
    {
      version: 1,
      upstreams: { crm: { type: 'http', url: 'http://127.0.0.1:1/mcp' } },
      policy: { deny: ['skill.name == "deploy" && upstream.name == "crm"', 'resource.uri.endsWith(".sh")'] },
    },
    { directory: '.' },
  )
  const results = runCases(
    [
      { skill: 'deploy', upstream: 'crm', effect: 'deny', rule: 'deny[0]' },
      { skill: 'deploy', upstream: 'crm', effect: 'hidden' },
      { skill: 'refunds', upstream: 'crm', effect: 'allow' },
      { skill: 'refunds', resource: 'skill://crm/refunds/run.sh', effect: 'deny', rule: 'deny[1]' },
      { resource: 'memo://1', effect: 'allow' },
    ],
    config,
  )

  assert.deepEqual(
    results.filter(({ isOk }) => !isOk),
    [],
  )
})
