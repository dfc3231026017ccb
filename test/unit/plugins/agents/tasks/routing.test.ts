import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  keywordTest,
  routing,
  type AgentFactsNow,
  type RouteRequest,
} from '../../../../../plugins/agents/scheduling/routing.ts'

const CAPABILITIES = ['code', 'review', 'search', 'tests']
const ON_LIMIT = ['fallback', 'queue', 'reject'] as const

function agent(id: string, facts: Partial<AgentFactsNow> = {}): AgentFactsNow {
  return {
    ...{ id, capabilities: new Set<string>(), priority: 0, unfit: undefined, onLimit: 'fallback' },
    ...{ running: 0, concurrent: 2, queued: 0, queue: 4, queueTimeoutMs: 60_000, spent: undefined },
    ...facts,
  }
}

function wanted(facts: Partial<RouteRequest> = {}): RouteRequest {
  return {
    ...{ agent: undefined, taskType: undefined, capabilities: [], prompt: 'do it' },
    caller: { issuer: '', subject: 'ann' },
    ...facts,
  }
}

const SPENT = { limit: 'perDay', retryAfterMs: 3_600_000 } as const

test('who was named gets it, and nobody else', () => {
  const { decision } = routing({ rules: [], default: ['b'] })(wanted({ agent: 'a' }), [
    agent('a'),
    agent('b'),
  ])

  assert.deepEqual([decision.chosen, decision.by], [['a'], 'explicit'])
  assert.equal(decision.candidates.find(({ agent: id }) => id === 'b')?.why, 'another one was named')
})

test('a rule fits when type, keyword and subject do; the others follow by default, then priority', () => {
  const rule = { taskTypes: ['review'], keywords: ['security', 're:\\bauthn?\\b'], principals: 'ci-*' }
  const route = routing({ rules: [{ id: 'sec', ...rule, prefer: ['c', 'b'], only: false }], default: ['b'] })
  const agents = [agent('a', { priority: 9 }), agent('b'), agent('c'), agent('d', { priority: 5 })]
  const fitting = { taskType: 'review', prompt: 'look at AuthN now', caller: { issuer: '', subject: 'ci-7' } }

  assert.deepEqual(route(wanted(fitting), agents).decision.chosen, ['c', 'b', 'a', 'd'])
  assert.equal(route(wanted(fitting), agents).decision.by, 'rule:sec')
  const ann = { caller: { issuer: '', subject: 'ann' } }
  for (const other of [{ taskType: 'code' }, { prompt: 'insecurity, authors' }, ann])
    assert.deepEqual(route(wanted({ ...fitting, ...other }), agents).decision.chosen, ['b', 'a', 'd', 'c'])
})

test('a rule that names a subject alone is for the key of that name, and not for a token with the same subject', () => {
  const issuer = 'https://id.example'
  const auth = {
    ...{ keyHeader: 'x-api-key', except: [], rules: [], keysFile: './keys.txt' },
    jwt: [{ issuer, jwks: './jwks.json', audience: [], algorithms: [], leeway: '30s' }],
  } as unknown as Parameters<typeof routing>[1]
  const chosen = (principals: string | string[], of: string): unknown => {
    const rules = [{ principals, prefer: ['b'], only: true }]
    return routing({ rules, default: [] }, auth)(wanted({ caller: { issuer: of, subject: 'ci' } }), [
      agent('a'),
      agent('b'),
    ]).decision.by
  }

  assert.deepEqual([chosen('ci', 'api-key'), chosen('ci', issuer)], ['rule:1', 'priority'])
  assert.deepEqual(
    [chosen(`${issuer} c*`, 'api-key'), chosen([`${issuer} c*`], issuer)],
    ['priority', 'rule:1'],
  )
  assert.deepEqual([chosen('*', 'api-key'), chosen('*', issuer)], ['rule:1', 'rule:1'])
})

test('a spent limit falls back, waits, or rejects with when to come back', () => {
  const route = routing({ rules: [], default: ['a'] })
  const spent = (onLimit: AgentFactsNow['onLimit'], ms: number): AgentFactsNow[] => [
    agent('a', { onLimit, spent: { limit: 'perMinute', retryAfterMs: ms } }),
    agent('b'),
  ]

  assert.deepEqual(route(wanted(), spent('fallback', 9000)).decision.chosen, ['b'])
  assert.deepEqual(route(wanted(), spent('queue', 9000)).decision.chosen, ['a', 'b'])
  assert.equal(route(wanted(), spent('reject', 9000)).refused?.retryAfterMs, 9000)
  assert.equal(
    route(wanted(), spent('queue', 90_000)).refused?.agent,
    'a',
    'nobody waits beyond queueTimeout',
  )
  assert.equal(route(wanted({ agent: 'a' }), spent('fallback', 9000)).refused?.agent, 'a')
})

test('a busy agent comes behind a free one, unless tasks are to wait for it', () => {
  const route = routing({ rules: [], default: ['a'] })
  const busy = { running: 2 }

  assert.deepEqual(route(wanted(), [agent('a', busy), agent('b')]).decision.chosen, ['b', 'a'])
  assert.deepEqual(route(wanted(), [agent('a', { ...busy, onLimit: 'queue' }), agent('b')]).decision.chosen, [
    'a',
    'b',
  ])
  assert.deepEqual(
    route(wanted(), [agent('a', { ...busy, queued: 4 }), agent('b', { unfit: 'ill' })]).decision.chosen,
    [],
  )
})

test('2,500 random cases: never without the capability, never over a limit, and the same twice', () => {
  const random = generator(6)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const some = <T>(values: readonly T[]): T[] => values.filter(() => random() < 0.5)
  const ids = ['a', 'b', 'c', 'd', 'e']
  let chosenAtAll = 0
  for (let round = 0; round < 2500; round++) {
    const agents = some(ids).map(id =>
      agent(id, {
        capabilities: new Set(CAPABILITIES.filter(() => random() < 0.9)),
        priority: Math.floor(random() * 3),
        unfit: random() < 0.2 ? 'ill' : undefined,
        onLimit: pick(ON_LIMIT),
        running: Math.floor(random() * 4),
        queued: Math.floor(random() * 5),
        spent:
          random() < 0.3 ? { limit: pick(['perMinute', 'perDay']), retryAfterMs: random() * 1e5 } : undefined,
      }),
    )
    const rule = { taskTypes: ['review'], prefer: [pick(ids), pick(ids)], only: random() < 0.3 }
    const route = routing({ rules: random() < 0.5 ? [rule] : [], default: some(ids) })
    const asked = wanted({
      agent: random() < 0.2 ? pick(ids) : undefined,
      taskType: pick([undefined, 'review']),
      capabilities: some(CAPABILITIES).slice(0, 1),
    })
    const { decision, refused } = route(asked, agents)
    const shuffled = agents.map(value => ({ value, at: random() })).sort((x, y) => x.at - y.at)

    assert.deepEqual(
      route(
        asked,
        shuffled.map(({ value }) => value),
      ),
      { decision, refused },
    )
    assert.equal(decision.candidates.length, agents.length)
    assert.ok(refused === undefined || decision.chosen.length === 0)
    for (const id of decision.chosen)
      mayHaveIt(
        agents.find(other => other.id === id),
        asked,
      )
    chosenAtAll += decision.chosen.length
  }
  assert.ok(chosenAtAll > 1000, 'the cases are no empty ones')
})

test('patterns are those of regular expressions, and take linear time', () => {
  const fits = (pattern: string, prompt: string): boolean => keywordTest([`re:${pattern}`])(prompt)

  assert.equal(fits('\\bauthn?\\b', 'the Auth of it'), true)
  assert.equal(fits('\\bauthn?\\b', 'the author'), false)
  assert.equal(fits('\\bCVE-\\d{4,}', 'see cve-2026'), true)
  // A backtracking engine would not come back from this one.
  assert.equal(fits('(a+)+b', 'a'.repeat(16_000)), false)
  for (const wrong of ['(?=a)', '(a', 'a)', '\\1', '*a', '[a', 'a**', '(a{100}){100}'])
    assert.throws(() => keywordTest([`re:${wrong}`]), SyntaxError, wrong)
})

test('an agent whose day is spent is passed over, and the decision says why', () => {
  const { decision } = routing(undefined)(wanted(), [agent('a', { spent: SPENT, priority: 9 }), agent('b')])

  assert.deepEqual(decision.chosen, ['b'])
  assert.match(decision.candidates[0]?.why ?? '', /perDay is spent, for 3600 s/)
})

function mayHaveIt(found: AgentFactsNow | undefined, asked: RouteRequest): void {
  assert.ok(found !== undefined && found.unfit === undefined)
  assert.ok(asked.capabilities.every(capability => found.capabilities.has(capability)))
  assert.ok(found.queued < found.queue || (found.running < found.concurrent && found.queued === 0))
  // One at its limit is chosen only to be waited for, and only as long as anybody waits.
  if (found.spent !== undefined)
    assert.ok(found.onLimit === 'queue' && found.spent.retryAfterMs <= found.queueTimeoutMs)
  assert.ok(asked.agent === undefined || asked.agent === found.id)
}

/** Mulberry32: the same numbers for the same seed. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
