import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { CALL, linkIn, loggedIn, setting as oauthSetting } from '../oauth/connect/setting.ts'
import { askAs, keysOf, open, posted, ROUTES, setting } from './setting.ts'

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

test('every operation is refused to unknown callers and other origins, and those that act to who only reads', async t => {
  const url = 'http://127.0.0.1:9/mcp'
  const made = await setting(t, {
    approve: {},
    auth: { keys: keysOf({ ada: ['ui:read'], bob: ['ui:read', 'ui:act'], eve: [] }) },
    upstreams: { far: { type: 'http', url, start: 'lazy', oauth: {} } },
  })
  const as = askAs(made.origin)
  for (const name of ROUTES) {
    const [method = '', path = ''] = name.split(' ')
    const init: RequestInit = method === 'GET' ? {} : posted({})
    assert.equal((await as('', path, init)).status, 401, name)
    assert.equal((await as('eve', path, init)).status, 403, name)
    const headers = { ...(init.headers as Record<string, string>), 'sec-fetch-site': 'same-site' }
    assert.equal((await as('bob', path, { ...init, headers })).status, 403, name)
    // The agents of this gateway are none.
    if (method === 'GET' || name === 'POST reply') continue
    assert.equal((await as('ada', path, init)).status, 403, name)
  }
})
