import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientDescription, Session } from '../../../src/api/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { type Peer, json, legacy, modern, peer, result, said } from '../fixtures/http-peer.ts'
import {
  type Bench,
  type TestCall,
  bench,
  callOf,
  httpSpec,
  isAlive,
  script,
  stdioSpec,
  textOf,
} from '../fixtures/upstream-bench.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')
const MODERN = { era: 'modern', version: '2026-07-28' } as const

describe('a shared legacy server', { concurrency: 4 }, () => {
  it('on HTTP is one session that may ask for everything', async t => {
    const server = await oldServer(t)
    const { upstream } = await bench(t, httpSpec(server.url))

    for (const client of [can({ sampling: {} }), can({}), can({ roots: {} }, MODERN)])
      await upstream.dispatch(tool('a', {}, {}, client))

    assert.deepEqual(declarations(server), [
      { roots: { listChanged: true }, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
    ])
  })
})

describe('a modern server', () => {
  it('hears what a client can be asked for in either era, but for tasks, and nothing where it cannot be asked', async t => {
    const server = await peer(
      t,
      modern((heard, response) => result(response, heard, said('ok'))),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'a/b': {} }
    const mute = tool('a', {}, {}, can({ elicitation: {}, tasks: {} }))
    Object.assign(mute.exchange, { canAsk: false })

    await upstream.dispatch(tool('a', {}, {}, can({ elicitation: {}, roots: { listChanged: true }, tasks: {} })))
    await upstream.dispatch(tool('a', {}, {}, can({ sampling: {}, extensions }, MODERN)))
    await upstream.dispatch(mute)

    assert.deepEqual(
      server.of('tools/call').map(({ message }) => {
        const meta = message.params?._meta as JsonObject
        return meta['io.modelcontextprotocol/clientCapabilities']
      }),
      [{ roots: {}, elicitation: { form: {} } }, { sampling: {}, extensions: { 'a/b': {} } }, {}],
    )
  })
})

describe('a server of isolation "session"', { concurrency: 4 }, () => {
  it('is a process for each session, which ends with it', async t => {
    const { upstream } = await bench(t, stdioSpec([KEEPING], { isolation: 'session' }))
    const one = { id: 'one' }
    const count = async (session: Partial<Session>): Promise<[number, number]> => {
      const [pid, calls] = textOf(await upstream.dispatch(tool('count', {}, session))).split(' ')
      return [Number(pid), Number(calls)]
    }

    const [first, second, other] = [await count(one), await count(one), await count({ id: 'two' })]

    assert.equal(second[0], first[0])
    assert.deepEqual([first[1], second[1], other[1]], [1, 2, 1])
    assert.notEqual(first[0], upstream.pid)
    assert.notEqual(other[0], first[0])
    upstream.onSessionEnd?.(sessionNamed('one'))
    await until(() => !isAlive(first[0]), 'its process has ended')
    assert.ok(isAlive(other[0]))
    await upstream.stop()
    assert.ok(!isAlive(other[0]))
  })

  it('lets a call end that outlives its session', async t => {
    const { upstream, stderr } = await bench(t, stdioSpec([KEEPING], { isolation: 'session' }))
    const one = { id: 'one' }
    const held = upstream.dispatch(tool('hold', {}, one))
    await until(() => stderr().includes('holds 1'), 'the call is under way')
    const release = upstream.dispatch(tool('release', {}, one))

    upstream.onSessionEnd?.(sessionNamed('one'))

    assert.equal(textOf(await held), 'released')
    assert.equal(textOf(await release), 'released')
  })

  it('has a process again after it crashed, and the main one is none the worse', async t => {
    const { upstream } = await bench(t, stdioSpec([KEEPING], { isolation: 'session' }))
    await upstream.start()
    const { pid } = upstream

    await assert.rejects(upstream.dispatch(tool('die')), { code: 'GW_UPSTREAM_CLOSED' })

    assert.equal(upstream.state, 'ready')
    assert.equal(upstream.pid, pid)
    await untilAnswered(upstream)
  })

  it('ends a link after five idle minutes, and the link idle longest when there are too many', async t => {
    const server = await oldServer(t)
    const time = new TestClock()
    const { upstream } = await bench(t, httpSpec(server.url, { isolation: 'session' }), { clock: time })
    const gone = (): number => server.heard.filter(({ verb }) => verb === 'DELETE').length

    for (let id = 1; id <= 65; id++) await upstream.dispatch(tool('a', {}, { id: String(id) }))
    await until(() => gone() === 1, 'the first makes room for the last')
    assert.equal(server.heard.find(({ verb }) => verb === 'DELETE')?.headers['mcp-session-id'], 'session-2')
    time.advance(5 * 60_000)

    await until(() => gone() === 65, 'all but the main one have ended')
    assert.equal(upstream.state, 'ready')
  })
})

describe('a server of isolation "principal"', () => {
  it('is a process for each caller, however many sessions and programs it has', async t => {
    const { upstream } = await bench(t, stdioSpec([KEEPING], { isolation: 'principal' }))
    const caller = (subject: string): Session['principal'] => ({
      issuer: '',
      client: '',
      subject,
      scopes: [],
    })
    const count = async (id: string, subject: string, client?: Partial<ClientDescription>): Promise<string> => {
      const call = tool('count', {}, { id, principal: caller(subject) }, client)
      return textOf(await upstream.dispatch(call))
    }

    const [ada, again, bob] = [
      await count('1', 'ada'),
      await count('2', 'ada', can({ sampling: {} })),
      await count('3', 'bob'),
    ]

    assert.equal(again, ada.replace(/1$/, '2'))
    assert.match(bob, / 1$/)
    upstream.onSessionEnd?.(sessionNamed('1'))
    assert.match(await count('4', 'ada'), / 3$/)
  })
})

function tool(
  name: string,
  args: JsonObject = {},
  session: Partial<Session> = {},
  client: Partial<ClientDescription> = {},
): TestCall {
  return callOf('tools/call', { name, arguments: args }, client, {}, session)
}

function can(capabilities: JsonObject, client: Partial<ClientDescription> = {}): Partial<ClientDescription> {
  return { capabilities, ...client }
}

function sessionNamed(id: string): Session {
  return callOf('ping', undefined, {}, {}, { id }).exchange.session
}

function oldServer(t: Parameters<typeof peer>[0]): Promise<Peer> {
  return peer(
    t,
    legacy((heard, response) =>
      heard.message.method === undefined ? json(response, 202, {}) : result(response, heard, said('ok')),
    ),
  )
}

function declarations(server: Peer): unknown[] {
  return server.of('initialize').map(({ message }) => message.params?.capabilities)
}

/** A link that failed is tried again after a pause. */
async function untilAnswered(upstream: Bench['upstream']): Promise<void> {
  let text = ''
  for (let tries = 0; text === '' && tries < 1000; tries++) {
    text = await upstream.dispatch(tool('count')).then(textOf, () => '')
    if (text === '') await new Promise(resolve => setTimeout(resolve, 10))
  }
  assert.match(text, / 1$/)
}
