import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { CALL, linkIn, loggedIn, setting as oauthSetting } from '../oauth/connect/setting.ts'
import { open, posted, setting } from './setting.ts'

const key = (name: string): string => `key-of-${name}-who-looks-at-it`

function keyFor(name: string, scopes: readonly string[]): JsonObject {
  return { name, hash: `sha256:${createHash('sha256').update(key(name)).digest('hex')}`, scopes: [...scopes] }
}

test('a login that is kept is ended by who may act, once, and a call is refused from then on', async t => {
  const made = await oauthSetting(t, { ui: {} })
  const alice = await made.client('alice')
  await loggedIn(made, linkIn((await alice.request('tools/call', CALL)).result), 'alice')
  assert.match(JSON.stringify((await alice.request('tools/call', CALL)).result), /you are alice/)
  const { json } = await open(String((await made.gateway.gateway.control('ui.link')).url))
  const logins = async (): Promise<JsonObject[]> => (await json('logins')).logins as JsonObject[]
  const [row] = await logins()
  assert.deepEqual([row?.upstream, row?.state], ['files', 'granted'])
  assert.doesNotMatch(JSON.stringify(row), /token|secret/i)
  const login = { upstream: 'files', account: String(row?.account) }
  assert.equal((await json('forget-login', { ...login, account: 'made-up' })).removed, 0)
  assert.equal((await json('forget-login', login)).removed, 1)
  assert.equal((await json('forget-login', login)).removed, 0)
  assert.ok((await logins()).every(({ state }) => state !== 'granted'))
  assert.doesNotMatch(JSON.stringify((await alice.request('tools/call', CALL)).result), /you are alice/)
})

test('every route that the API describes is closed to nobody, to other origins, and to who only looks', async t => {
  const url = 'http://127.0.0.1:9/mcp'
  const made = await setting(t, {
    approve: {},
    auth: { keys: [keyFor('ada', ['ui:read']), keyFor('bob', ['ui:read', 'ui:act']), keyFor('eve', [])] },
    upstreams: { far: { type: 'http', url, start: 'lazy', oauth: {} } },
  })
  const as = (name: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${made.origin}/ui/api/${path}`, {
      ...init,
      headers: {
        ...(init.headers as Record<string, string>),
        ...(name === '' ? {} : { authorization: `Bearer ${key(name)}` }),
      },
    })
  const { paths } = (await (await as('ada', 'openapi.json')).json()) as {
    paths: Record<string, Record<string, { summary: string }>>
  }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => ({
      path: path.slice(1),
      isGet: method === 'get',
      summary,
    })),
  )
  assert.ok(routes.some(({ path }) => path === 'forget-login'))
  for (const { path, isGet, summary } of routes) {
    const init = isGet ? {} : posted({})
    assert.equal((await as('', path, init)).status, 401, path)
    assert.equal((await as('eve', path, init)).status, 403, path)
    const foreign = {
      ...init,
      headers: { ...(init as { headers?: object }).headers, 'sec-fetch-site': 'same-site' },
    }
    assert.equal((await as('bob', path, foreign)).status, 403, path)
    const acts = /Needs the scope for acting/.test(summary)
    if (acts) assert.equal((await as('ada', path, init)).status, 403, path)
    // Whatever changes anything, or has a server do something, is marked so; the others only look.
    else assert.ok(isGet || ['explain', 'shown'].includes(path), path)
  }
})
