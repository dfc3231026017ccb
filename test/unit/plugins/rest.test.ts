import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { resilienceError } from '../../../plugins/resilience/retries.ts'
import { routingError } from '../../../plugins/routing/index.ts'
import { gatewayError, refuse, type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { byToken, from, rest } from '../fixtures/by-token.ts'

interface Bench {
  readonly upstream: TestUpstream
  ask(path: string, init?: RequestInit): Promise<Response>
}

const TOOLS = {
  echo: (args: JsonObject) => String(args.text),
  boom: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
  wrong: () => ({ code: -32603, message: 'the server is at a loss' }),
  slow: (_args: JsonObject, { notify, params }: { notify: Notify; params: JsonObject }) => {
    const token = (params._meta as JsonObject | undefined)?.progressToken
    notify('notifications/progress', { progressToken: token, progress: 1, total: 2 })
    return 'done'
  },
  wait: (_args: JsonObject, { signal }: { signal: AbortSignal }) =>
    new Promise(resolve => signal.addEventListener('abort', () => resolve('given up'))),
}
type Notify = (method: string, params: JsonObject) => void

/** Answers some calls in the gateway's own words. */
const refusing = definePlugin<undefined>({
  name: 'refusing',
  setup({ hooks }) {
    const answers: Readonly<Record<string, () => ReturnType<typeof refuse>>> = {
      denied: () => {
        throw routingError('GW_DENIED', { reason: 'not for you' })
      },
      limited: () => refuse(-32000, 'too many', { retryAfterMs: 1500 }),
      late: () => {
        throw resilienceError('GW_TIMEOUT', { upstream: 'web', ms: 5 })
      },
      away: () => {
        throw gatewayError('GW_UPSTREAM_DOWN', { upstream: 'web', why: 'away' })
      },
    }
    hooks.request.tap({ methods: ['tools/call'] }, ({ params }) => answers[String(params?.name)]?.())
  },
})

async function bench(t: TestContext, config: JsonObject = {}, plugins: Plugin<never>[] = []): Promise<Bench> {
  const upstream = closeAfter(t, await testUpstream({ tools: TOOLS, pageSize: 2 }))
  const gateway = closeAfter(
    t,
    await testGateway({
      upstreams: { web: upstream },
      plugins: [refusing as Plugin<never>, ...plugins],
      config: { rest: {}, lists: { pageSize: 2 }, ...config },
    }),
  )
  return { upstream, ask: (path, init) => fetch(new URL(path, gateway.url), init) }
}

async function json(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

function names(list: JsonObject): unknown[] {
  return (list.tools as JsonObject[]).map(({ name }) => name)
}

describe('GET /tools', () => {
  test('has every tool of the caller in one piece, filtered as for MCP', async t => {
    const { ask } = await bench(t, { filters: { tools: { deny: ['web__wrong'] } } })
    const reply = await ask('/tools')
    assert.equal(reply.status, 200)
    assert.deepEqual(names(await json(reply)), ['web__echo', 'web__boom', 'web__slow', 'web__wait'])
  })

  test('is not sent again to who has it', async t => {
    const { ask, upstream } = await bench(t)
    const first = await ask('/tools')
    const etag = first.headers.get('etag') ?? ''
    assert.match(etag, /^"[\w-]{43}"$/)
    assert.equal(first.headers.get('cache-control'), 'private, no-cache')
    const again = await ask('/tools', { headers: { 'if-none-match': `"other", ${etag}` } })
    assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', etag])
    upstream.offer.tools.set('more', () => 'more')
    upstream.notify('notifications/tools/list_changed')
    assert.equal((await ask('/tools', { headers: { 'if-none-match': '"other"' } })).status, 200)
  })

  test('says how long the list holds, where its server does', async t => {
    const upstream = closeAfter(
      t,
      await testUpstream({ era: 'modern', tools: TOOLS, ttlMs: 60_000, cacheScope: 'public' }),
    )
    const gateway = closeAfter(t, await testGateway({ upstreams: { web: upstream }, config: { rest: {} } }))
    const reply = await fetch(new URL('/tools', gateway.url))
    assert.match(reply.headers.get('cache-control') ?? '', /^public, max-age=(60|59)$/)
  })
})

describe('POST /tools/call', () => {
  test('answers with the result', async t => {
    const { ask } = await bench(t)
    const reply = await ask('/tools/call', rest('web__echo', { text: 'hello' }))
    assert.equal(reply.status, 200)
    assert.deepEqual((await json(reply)).content, [{ type: 'text', text: 'hello' }])
  })

  test('has a result where the tool failed', async t => {
    const { ask } = await bench(t)
    const reply = await ask('/tools/call', rest('web__boom'))
    assert.deepEqual([reply.status, (await json(reply)).isError], [200, true])
  })

  const refused: readonly [string, number][] = [
    ['web__nothing', 404],
    ['denied', 403],
    ['limited', 429],
    ['late', 504],
    ['away', 503],
    ['web__wrong', 502],
  ]
  for (const [name, status] of refused)
    test(`has status ${status} and a problem for ${name}`, async t => {
      const { ask } = await bench(t)
      for (const accept of ['application/json', 'text/event-stream']) {
        const reply = await ask('/tools/call', rest(name, {}, accept))
        assert.equal(reply.status, status)
        assert.equal(reply.headers.get('content-type'), 'application/problem+json')
        assert.equal(reply.headers.get('retry-after'), status === 429 ? '2' : null)
        const { title, status: said } = await json(reply)
        assert.deepEqual([typeof title, said], ['string', status])
      }
    })

  test('takes nothing that is no call', async t => {
    const { ask } = await bench(t, {
      listeners: { main: { type: 'http', port: 0, limits: { body: '1KiB' } } },
    })
    const status = async (init: RequestInit): Promise<number> => (await ask('/tools/call', init)).status
    const bodied = (body: string, type = 'application/json'): RequestInit => ({
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    assert.equal(await status(bodied('{')), 400)
    assert.equal(await status(bodied('[]')), 400)
    assert.equal(await status(bodied('{"name":1}')), 400)
    assert.equal(await status(bodied('{"name":"web__echo","arguments":[]}')), 400)
    assert.equal(await status(bodied(`{"name":"x","arguments":{"a":${'['.repeat(99)}${']'.repeat(99)}}}`)), 400)
    assert.equal(await status(bodied('{}', 'text/plain')), 415)
    assert.equal(await status(bodied(`{"name":"${'x'.repeat(2000)}"}`)), 413)
    assert.equal(await status(rest('web__echo', {}, 'image/png')), 406)
    const other = await ask('/tools/call')
    assert.deepEqual([other.status, other.headers.get('allow')], [405, 'POST'])
  })

  test('sends progress as events, then the result', async t => {
    const { ask } = await bench(t)
    const reply = await ask('/tools/call', rest('web__slow', {}, 'text/event-stream'))
    assert.equal(reply.headers.get('content-type'), 'text/event-stream')
    const events = (await reply.text()).trim().split('\n\n')
    assert.equal(events[0], 'event: progress\ndata: {"progress":1,"total":2}')
    assert.match(events[1] ?? '', /^event: result\ndata: \{.*"done".*\}$/)
  })

  test('is cancelled when its client goes away', async t => {
    const { ask, upstream } = await bench(t)
    const controller = new AbortController()
    const gone = assert.rejects(ask('/tools/call', { ...rest('web__wait'), signal: controller.signal }), /abort/i)
    const call = await upstream.waitForCall('tools/call')
    controller.abort()
    await gone
    while (!call.isCancelled) await new Promise(resolve => setImmediate(resolve))
  })

  test('knows its caller as MCP does, and nobody else comes in', async t => {
    const { ask } = await bench(t, {}, [byToken])
    assert.equal((await ask('/tools')).status, 401)
    assert.equal((await ask('/tools', from('alice'))).status, 200)
    assert.equal((await ask('/tools/call', rest('web__echo'))).status, 401)
  })
})

test('the façade is served where the configuration says, and describes itself there', async t => {
  const { ask } = await bench(t, {
    listeners: { main: { type: 'http', port: 0 }, other: { type: 'http', port: 0 } },
    rest: { path: '/api', listeners: ['main'] },
  })
  assert.equal((await ask('/tools')).status, 404)
  const described = await json(await ask('/api/openapi.json'))
  assert.equal(described.openapi, '3.1.0')
  assert.deepEqual(Object.keys(described.paths as object), ['/api/tools', '/api/tools/call'])
  const { schemas } = described.components as { schemas: { Call: { oneOf: JsonObject[] } } }
  assert.equal(schemas.Call.oneOf.length, Object.keys(TOOLS).length)
})

test('a tool that asks its client hears that this one cannot be asked', async t => {
  const upstream = closeAfter(
    t,
    await testUpstream({
      era: 'modern',
      tools: {},
      methods: {
        'tools/list': () => ({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }] }),
        'tools/call': () => ({
          resultType: 'input_required',
          inputRequests: { a: { method: 'elicitation/create', params: { message: 'well?' } } },
        }),
      },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web: upstream }, config: { rest: {} } }))
  const reply = await fetch(new URL('/tools/call', gateway.url), rest('web__ask'))
  const { rpcCode, detail } = await json(reply)
  assert.deepEqual([reply.status, rpcCode], [400, -32021])
  assert.match(String(detail), /elicitation/)
})
