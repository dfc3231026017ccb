import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testGateway } from '../../../../src/testing/index.ts'
import { posted, session, setting } from './setting.ts'

const KEYS = {
  'key-that-only-reads-0001': { name: 'reader', scopes: ['ui:read'] },
  'key-that-acts-00000002': { name: 'actor', scopes: ['ui:read', 'ui:act'] },
  'key-of-somebody-00003': { name: 'other', scopes: ['tools'] },
}

const AUTH = {
  keys: Object.entries(KEYS).map(([key, one]) => ({
    ...one,
    hash: `sha256:${createHash('sha256').update(key).digest('hex')}`,
  })),
}

describe('a flood', () => {
  test('of logins of one caller ends the oldest of its browsers, and no other', async t => {
    const made = await setting(t, { auth: AUTH })
    const owner = await made.opened()
    const url = new URL('/ui/api/session', made.origin)
    const status = async (reply: Response): Promise<number> => {
      const cookie = String(reply.headers.get('set-cookie')).split(';', 1)[0] ?? ''
      const { key } = (await reply.json()) as { key: string }
      return (await fetch(`${made.origin}/ui/api/calls`, { headers: { cookie, 'x-tapgate-ui': key } })).status
    }
    const logins: Response[] = []
    for (let i = 0; i < 25; i++)
      logins.push(await session(url, {}, { authorization: 'Bearer key-that-only-reads-0001' }))
    const found = await Promise.all(logins.map(status))
    assert.deepEqual(found, [...Array<number>(5).fill(401), ...Array<number>(20).fill(200)])
    assert.equal((await owner.ask('calls')).status, 200)
  })
})

describe('behind auth', () => {
  const behind = (t: TestContext): ReturnType<typeof setting> => setting(t, { auth: AUTH })
  const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

  test('a browser logs in with a key, has the rights of that, and no more', async t => {
    const { origin } = await behind(t)
    const url = new URL('/ui/api/session', origin)
    assert.equal((await session(url, {}, bearer('key-of-somebody-00003'))).status, 403)
    assert.equal((await session(url, {})).status, 401)
    const reply = await session(url, {}, bearer('key-that-only-reads-0001'))
    const set = String(reply.headers.get('set-cookie'))
    assert.match(set, /HttpOnly; SameSite=Strict; Max-Age=43200$/)
    assert.doesNotMatch(set, /key-that/)
    const headers = {
      cookie: set.split(';', 1)[0] ?? '',
      'x-tapgate-ui': ((await reply.json()) as { key: string }).key,
    }
    const me = (await (await fetch(`${origin}/ui/api/session`, { headers })).json()) as JsonObject
    assert.deepEqual([me.subject, me.acts], ['reader', false])
    const init = posted({})
    const acting = await fetch(`${origin}/ui/api/reload`, {
      ...init,
      headers: { ...(init.headers as object), ...headers },
    })
    assert.equal(acting.status, 403)
    // The cookie is for the page: MCP is not spoken with it.
    const mcp = await fetch(`${origin}/mcp`, {
      ...posted({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      headers,
    })
    assert.equal(mcp.status, 401)
  })

  test('a key that is revoked shows nothing more', async t => {
    const config = { ui: {}, auth: AUTH, upstreams: {} }
    const gateway = closeAfter(t, await testGateway({ config }))
    const { origin } = new URL(gateway.url)
    const reply = await session(new URL('/ui/api/session', origin), {}, bearer('key-that-acts-00000002'))
    const headers = {
      cookie: String(reply.headers.get('set-cookie')).split(';', 1)[0] ?? '',
      'x-tapgate-ui': ((await reply.json()) as { key: string }).key,
    }
    const ask = async (): Promise<number> => (await fetch(`${origin}/ui/api/calls`, { headers })).status
    assert.equal(await ask(), 200)
    const { config: now } = gateway.gateway.generation.loaded
    await gateway.gateway.reload({ ...now, auth: { keys: AUTH.keys.slice(0, 1) } })
    assert.equal(await ask(), 401)
  })

  test('a listener that is open to the network without auth serves no page', async t => {
    const listeners = {
      open: { type: 'http', host: '0.0.0.0', port: 0, exposeWithoutAuth: true, allowedHosts: ['127.0.0.1'] },
    }
    const gateway = closeAfter(t, await testGateway({ config: { ui: {}, listeners } }))
    const { port } = new URL(gateway.url)
    for (const path of ['/ui', '/ui/', '/ui/page.js', '/ui/api/session'])
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 404, path)
    assert.match(String((await gateway.gateway.control('ui.link')).problem), /no listener/)
  })
})
