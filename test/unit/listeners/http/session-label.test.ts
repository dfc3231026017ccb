import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import type { UpstreamRuntime } from '../../../../src/api/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, TestClock, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { byToken, from, modern, rest } from '../../fixtures/by-token.ts'
import { script } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

const COUNT = 'keeper__count'

interface Bench {
  readonly url: string
  /** The number that a REST call got. */
  rest(who: string, label?: string): Promise<number>
  modern(who: string, label?: string): Promise<number>
  send(path: string, init: RequestInit): Promise<Response>
  /** Resolves when the server's processes are as `fits` wants them. */
  running(fits: (runtime: Partial<UpstreamRuntime>) => boolean): Promise<void>
}

async function bench(
  t: TestContext,
  keeper: JsonObject = {},
  more: JsonObject = {},
  clock = new TestClock(),
): Promise<Bench> {
  const upstream = {
    type: 'stdio',
    command: process.execPath,
    args: [script('keeping-server.mjs')],
    isolation: 'session',
    ...keeper,
  }
  const config = { upstreams: { keeper: upstream }, rest: {}, ...more }
  const { url, gateway } = closeAfter(t, await testGateway({ config, plugins: [byToken], clock }))
  const send = (path: string, init: RequestInit): Promise<Response> => fetch(new URL(path, url), init)
  return {
    url,
    send,
    // To inspect would wake it.
    running: fits =>
      until(() => fits(gateway.upstreams.get('keeper')?.status().runtime ?? {}), 'it is as it should be'),
    rest: async (who, label) => {
      const reply = await send('/tools/call', from(who, rest(COUNT), label))
      return countIn((await reply.json()) as JsonObject)
    },
    modern: async (who, label) => {
      const call = modern('tools/call', { name: COUNT, arguments: {} })
      const reply = (await (await send('/mcp', from(who, call, label))).json()) as JsonObject
      return countIn(reply.result as JsonObject)
    },
  }
}

function countIn({ content }: JsonObject): number {
  const [first] = content as { text: string }[]
  return Number(first?.text.split(' ')[1])
}

const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {} },
  clientInfo: { name: 'test', version: '1' },
}

function legacy(method: string, params: object, session?: string): RequestInit {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  if (session !== undefined) headers['mcp-session-id'] = session
  return { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}

describe('the label of a session', () => {
  test('makes requests of one caller one conversation, whatever protocol they come by', async t => {
    const { rest, modern, send } = await bench(t)
    assert.equal(await rest('alice', 'a'), 1)
    assert.equal(await modern('alice', 'a'), 2)
    const opened = await send('/mcp', from('alice', legacy('initialize', HELLO), 'a'))
    const id = opened.headers.get('mcp-session-id') ?? ''
    const call = legacy('tools/call', { name: COUNT, arguments: {} }, id)
    const counted = async (label?: string): Promise<number> => {
      const text = await (await send('/mcp', from('alice', call, label))).text()
      return Number(/"text":"\d+ (\d+)"/.exec(text)?.[1])
    }
    assert.equal(await counted(), 3)
    assert.equal(await counted('a'), 4)
    assert.equal(await counted('b'), 1, 'a gateway in front of this one speaks for many')
    assert.equal(await counted('a'), 5)
    assert.equal(await rest('alice', 'b'), 2)
  })

  test('says nothing of who the caller is: the same label of another one is another conversation', async t => {
    const { rest } = await bench(t)
    assert.deepEqual([await rest('alice', 'a'), await rest('alice', 'a')], [1, 2])
    assert.equal(await rest('bob', 'a'), 1)
  })

  test('left out, each request is a conversation of its own, though another one is open', async t => {
    const { rest, modern } = await bench(t, {}, { listeners: { main: { type: 'http', port: 0, eras: 'both' } } })
    assert.equal(await rest('alice', 'a'), 1)
    assert.deepEqual([await rest('alice'), await modern('alice'), await rest('alice')], [1, 1, 1])
    assert.equal(await rest('alice', 'a'), 2)
  })

  test('is a plain word, and stands once', async t => {
    const { send } = await bench(t)
    for (const label of ['', 'a b', 'a/b', 'x'.repeat(129), '["test"]'])
      for (const [path, init] of [
        ['/mcp', modern('ping')],
        ['/tools', {}],
        ['/mcp', legacy('initialize', HELLO)],
      ] as const)
        assert.equal((await send(path, from('alice', init, label))).status, 400, `${path} ${label}`)
    const twice = from('alice')
    ;(twice.headers as Headers).append('x-session-id', 'a')
    ;(twice.headers as Headers).append('x-session-id', 'b')
    assert.equal((await send('/tools', twice)).status, 400)
  })

  test('takes no more than its caller may have: his own idle ones make room, never those of others', async t => {
    const { rest, send, running } = await bench(t, { pool: { max: 8, perPrincipal: 2 } })
    assert.equal(await rest('bob', 'b'), 1)
    for (const label of ['a', 'b', 'c', 'd', 'e']) assert.equal(await rest('alice', label), 1)
    assert.deepEqual([await rest('bob', 'b'), await rest('alice', 'e'), await rest('alice', 'a')], [2, 2, 1])
    const held = ['e', 'a'].map(label => send('/tools/call', from('alice', restCall('keeper__hold'), label)))
    await running(({ inFlight }) => inFlight === 2)
    const refused = await send('/tools/call', from('alice', restCall(COUNT), 'f'))
    assert.equal(refused.status, 503)
    assert.equal(refused.headers.get('retry-after'), '1')
    for (const label of ['e', 'a']) await send('/tools/call', from('alice', restCall('keeper__release'), label))
    assert.deepEqual(
      (await Promise.all(held)).map(({ status }) => status),
      [200, 200],
    )
  })
})

const restCall = rest

describe('an upstream that is told of sessions', () => {
  test('learns one name of our own for each label of each caller, and never the label', async t => {
    const web = closeAfter(t, await testUpstream({ era: 'modern', tools: { count: () => 'x' }, ttlMs: 60_000 }))
    const config = { sessionHeaders: { upstreams: ['web'] }, rest: {} }
    const { url } = closeAfter(t, await testGateway({ upstreams: { web }, config, plugins: [byToken] }))
    const named = async (who: string, label?: string): Promise<string> => {
      const before = web.listCalls('tools/call').length
      await fetch(new URL('/tools/call', url), from(who, rest('web__count'), label))
      return String(web.listCalls('tools/call')[before]?.headers['x-session-id'])
    }
    const first = await named('alice', 'secret-label')
    assert.match(first, /^client-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(await named('alice', 'secret-label'), first)
    const others = [await named('alice', 'other'), await named('bob', 'secret-label'), await named('alice')]
    assert.equal(new Set([first, ...others]).size, 4)
    assert.ok(web.calls.every(({ headers }) => !JSON.stringify(headers).includes('secret-label')))
    const lists = web.listCalls('tools/list').length
    for (let round = 0; round < 3; round++) await fetch(new URL('/tools', url), from('alice', {}, 'secret-label'))
    assert.ok(web.listCalls('tools/list').length <= lists + 1, 'a labelled conversation keeps its list')
  })
})
