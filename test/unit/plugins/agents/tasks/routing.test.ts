import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRouter, type AgentStatus, type RouteRequest } from '../../../../../plugins/agents/scheduling.ts'

function agent(id: string, facts: Partial<AgentStatus> = {}): AgentStatus {
  return { id, capabilities: new Set<string>(), illness: undefined, ...facts }
}

function wanted(facts: Partial<RouteRequest> = {}): RouteRequest {
  const caller = { issuer: '', subject: 'ann' }
  return { agent: undefined, taskType: undefined, capabilities: [], caller, ...facts }
}

test('who was named gets it, and nobody else', () => {
  const { chosen, by, candidates } = createRouter({ rules: [], default: ['b'] })(wanted({ agent: 'a' }), [
    agent('a'),
    agent('b'),
  ])

  assert.deepEqual([chosen, by], [['a'], 'explicit'])
  assert.deepEqual(candidates[1], { agent: 'b', fits: false, why: 'not selected by explicit' })
})

test('the first rule that fits says who, else the default, else the order of the list', () => {
  const rules = [
    { id: 'sec', taskTypes: ['review'], principals: 'ci-*', prefer: ['c', 'b'] },
    { taskTypes: ['review'], prefer: ['d'] },
  ]
  const agents = ['a', 'b', 'c', 'd'].map(id => agent(id))
  const route = createRouter({ rules, default: ['b'] })
  const who = (facts: Partial<RouteRequest>): unknown => {
    const { chosen, by } = route(wanted(facts), agents)
    return [...chosen, by]
  }
  const ci = { issuer: '', subject: 'ci-7' }

  assert.deepEqual(who({ taskType: 'review', caller: ci }), ['c', 'b', 'rule:sec'])
  assert.deepEqual(who({ taskType: 'review' }), ['d', 'rule:2'])
  assert.deepEqual(who({ taskType: 'code', caller: ci }), ['b', 'default'])
  assert.deepEqual(createRouter(undefined)(wanted(), agents).chosen, ['a', 'b', 'c', 'd'])
})

test('only agents with the capabilities are chosen, and unhealthy ones come last', () => {
  const can = { capabilities: new Set(['review']) }
  const agents = [agent('a'), agent('b', { ...can, illness: 'ill' }), agent('c', can), agent('d', can)]
  const { chosen, candidates } = createRouter(undefined)(wanted({ capabilities: ['review'] }), agents)

  assert.deepEqual(chosen, ['c', 'd', 'b'])
  assert.deepEqual(
    candidates.map(({ why }) => why),
    ['lacks review', 'ill', 'it fits', 'it fits'],
  )
})

test('a rule that names a subject alone is for the key of that name, and not for a token with the same subject', () => {
  const issuer = 'https://id.example'
  const auth = {
    ...{ keyHeader: 'x-api-key', except: [], rules: [], keysFile: './keys.txt' },
    jwt: [{ issuer, jwks: './jwks.json', audience: [], algorithms: [], leeway: '30s' }],
  } as unknown as Parameters<typeof createRouter>[1]
  const chosen = (principals: string | string[], of: string): unknown => {
    const rules = [{ principals, prefer: ['b'] }]
    return createRouter({ rules, default: [] }, auth)(wanted({ caller: { issuer: of, subject: 'ci' } }), [
      agent('a'),
      agent('b'),
    ]).by
  }

  assert.deepEqual([chosen('ci', 'api-key'), chosen('ci', issuer)], ['rule:1', 'order'])
  assert.deepEqual([chosen(`${issuer} c*`, 'api-key'), chosen([`${issuer} c*`], issuer)], ['order', 'rule:1'])
  assert.deepEqual([chosen('*', 'api-key'), chosen('*', issuer)], ['rule:1', 'rule:1'])
})
