import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { createGateway } from '../../../../src/gateway/gateway.ts'
import { refuse, type Plugin, type Principal } from '../../../../src/plugin.ts'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

/** Everybody is who the token says; a token that no one has is refused. */
const byToken = definePlugin<undefined>({
  name: 'by-token',
  setup({ hooks }) {
    hooks.authenticate.tap(({ header }) => {
      const [authorization] = header('Authorization')
      const subject = /^Bearer (alice|bob)$/.exec(authorization ?? '')?.[1]
      if (subject === undefined)
        return {
          status: 401,
          error: { code: -32600, message: 'who are you?' },
          headers: { 'www-authenticate': 'Bearer' },
        }
      const principal: Principal = { issuer: 'test', client: '', subject, scopes: [] }
      return principal
    })
    hooks.request.tap({ methods: ['tools/call'] }, ({ session }) =>
      refuse(-32602, `you are ${session.principal.subject}`),
    )
    hooks.http
      .for('/whoami')
      .tap(async ({ caller, method, query, body }) =>
        method === 'POST'
          ? { status: 200, body: `${caller.subject} ${query.get('as') ?? ''} ${(await body()).toString()}` }
          : undefined,
      )
    hooks.http.for('/count').tap(() => ({ status: 200, body: pieces() }))
  },
})

async function* pieces(): AsyncGenerator<string> {
  for (const piece of ['1', '2', '3']) yield piece
}

interface Served {
  at(path: string, init?: RequestInit): Promise<Response>
  readonly url: URL
}

async function serve(t: TestContext, plugin: Plugin<never> = byToken, spec: object = {}): Promise<Served> {
  const gateway = await createGateway(
    { listeners: { main: { type: 'http', port: 0, ws: { path: '/ws' }, ...spec } } },
    { plugins: [plugin] },
  )
  await gateway.start()
  cleanup(t, () => gateway.close())
  const url = new URL(gateway.listeners[0]?.url ?? '')
  return { url, at: (path, init) => fetch(new URL(path, url), init) }
}

interface Post {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
}

function as(who: string, body: object, session?: string): Post {
  const headers: Record<string, string> = {
    authorization: `Bearer ${who}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  if (session !== undefined) headers['mcp-session-id'] = session
  return { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) }
}

const HELLO = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}
const CALL = { method: 'tools/call', params: { name: 'x' } }

describe('who sends an HTTP request', () => {
  test('is asked before anything else, and who cannot say it gets the refusal as it is', async t => {
    const { at } = await serve(t)
    const reply = await at('/mcp', as('mallory', HELLO))
    assert.equal(reply.status, 401)
    assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
    assert.match(await reply.text(), /who are you\?/)
    assert.equal((await at('/nowhere')).status, 401)
  })

  test('is not asked of probes and preflights', async t => {
    const { at } = await serve(t)
    assert.equal((await at('/livez')).status, 200)
    assert.equal((await at('/mcp', { method: 'OPTIONS' })).status, 204)
  })

  test('owns the session that it opened: for others there is none', async t => {
    const { at } = await serve(t)
    const opened = await at('/mcp', as('alice', HELLO))
    const session = opened.headers.get('mcp-session-id') ?? ''
    const own = await at('/mcp', as('alice', CALL, session))
    assert.match(await own.text(), /you are alice/)
    for (const method of ['POST', 'GET', 'DELETE']) {
      const { headers, body } = as('bob', CALL, session)
      const foreign = await at('/mcp', method === 'POST' ? { method, headers, body } : { method, headers })
      assert.equal(foreign.status, 404, method)
    }
    assert.match(await (await at('/mcp', as('alice', CALL, session))).text(), /you are alice/)
  })

  test('is known on a WebSocket, and who cannot say it gets none', async t => {
    const { url } = await serve(t)
    const open = (who: string): WebSocket =>
      new WebSocket(`ws://${url.host}/ws`, ['mcp'], { headers: { authorization: `Bearer ${who}` } })
    const alice = open('alice')
    await once(alice, 'open')
    alice.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...HELLO }))
    await once(alice, 'message')
    alice.send(JSON.stringify({ jsonrpc: '2.0', id: 2, ...CALL }))
    const [answer] = (await once(alice, 'message')) as [Buffer]
    assert.match(answer.toString(), /you are alice/)
    alice.close()
    const [error] = (await once(open('mallory'), 'error')) as [Error]
    assert.match(error.message, /401/)
  })

  test('does not come in when the plugin that asks fails', async t => {
    const broken = definePlugin<undefined>({
      name: 'broken',
      setup: ({ hooks }) =>
        hooks.authenticate.tap(() => {
          throw new Error('the key store is away')
        }),
    })
    const { at } = await serve(t, broken)
    const reply = await at('/mcp', as('alice', HELLO))
    assert.equal(reply.status, 500)
    assert.doesNotMatch(await reply.text(), /key store/)
  })
})

describe('a path that a plugin serves', () => {
  test('gets the caller, the query and the body', async t => {
    const { at } = await serve(t)
    const init = { method: 'POST', headers: { authorization: 'Bearer bob' }, body: 'hello' }
    assert.equal(await (await at('/whoami?as=guest', init)).text(), 'bob guest hello')
  })
})
