import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { TestClock } from '../../../../src/testing/index.ts'
import { closeAfter, testGateway } from '../../../../src/testing/index.ts'
import { open, posted, ROUTES, session, setting } from './setting.ts'

/** A request with headers that fetch would not send, and the path as it is. */
function raw(
  origin: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string; headers: JsonObject }> {
  const { hostname: host, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host, port, path, method, headers }, response => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
    })
    request.on('error', reject)
    request.end(method === 'GET' ? undefined : '{}')
  })
}

describe('who has no link', () => {
  test('reads nothing, and does nothing', async t => {
    const made = await setting(t)
    const { upstream } = made
    const before = upstream.listCalls('tools/call').length
    for (const name of ['session', ...ROUTES]) {
      const [path = '', method = 'GET'] = name.split(' ').reverse()
      const init = method === 'GET' ? {} : posted({ name: 'web__echo' })
      assert.equal((await fetch(`${made.origin}/ui/api/${path}`, init)).status, 401, name)
    }
    assert.equal(upstream.listCalls('tools/call').length, before)
  })

  test('gets in by no token that he makes up, of whatever type', async t => {
    const { origin } = await setting(t)
    const url = new URL('/ui/api/session', origin)
    for (const token of ['', 'x', 'a'.repeat(43), '../', 'null', '__proto__'])
      assert.equal((await session(url, { token })).status, 401)
    for (const token of [null, 1, {}, ['x'], true]) assert.notEqual((await session(url, { token })).status, 200)
    assert.equal((await session(url, {})).status, 401)
  })

  test('gets in by no cookie without its key, nor by a key without its cookie', async t => {
    const made = await setting(t)
    const { cookie, key } = await made.opened()
    const url = `${made.origin}/ui/api/calls`
    assert.equal((await fetch(url, { headers: { cookie } })).status, 401)
    assert.equal((await fetch(url, { headers: { 'x-tapgate-ui': key } })).status, 401)
    assert.equal((await fetch(url, { headers: { cookie, 'x-tapgate-ui': `${key}x` } })).status, 401)
    assert.equal((await fetch(url, { headers: { cookie, 'x-tapgate-ui': key } })).status, 200)
  })

  test('who sets a second cookie of the name makes neither count', async t => {
    const made = await setting(t)
    const { cookie, key } = await made.opened()
    const [name] = cookie.split('=')
    const both = { cookie: `${cookie}; ${String(name)}=other`, 'x-tapgate-ui': key }
    assert.equal((await fetch(`${made.origin}/ui/api/calls`, { headers: both })).status, 401)
  })
})

describe('a link', () => {
  test('is good once', async t => {
    const made = await setting(t)
    const link = await made.link()
    const { json } = await open(link)
    assert.equal((await json('session')).acts, true)
    const url = new URL(link)
    const again = await session(new URL('api/session', url), { token: url.hash.replace('#token=', '') })
    assert.equal(again.status, 401)
    assert.equal(again.headers.get('set-cookie'), null)
  })

  test('is good for one of two who open it at once', async t => {
    const made = await setting(t)
    const url = new URL(await made.link())
    const token = url.hash.replace('#token=', '')
    const both = await Promise.all([1, 2].map(() => session(new URL('api/session', url), { token })))
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401])
  })

  test('is of no use after five minutes, and a browser after its time', async t => {
    const clock = new TestClock()
    const gateway = closeAfter(t, await testGateway({ clock, config: { ui: { session: '1h' } } }))
    const url = String((await gateway.gateway.control('ui.link')).url)
    const late = String((await gateway.gateway.control('ui.link')).url)
    const opened = await open(url)
    assert.equal((await opened.ask('calls')).status, 200)
    clock.advance(301_000)
    const token = new URL(late).hash.replace('#token=', '')
    assert.equal((await session(new URL('api/session', late), { token })).status, 401)
    clock.advance(3_600_000)
    assert.equal((await opened.ask('calls')).status, 401)
  })

  test('is in no request: the token stands behind the #', async t => {
    const made = await setting(t)
    const { hash, search, pathname } = new URL(await made.link())
    assert.match(hash, /^#token=[\w-]{43}$/)
    assert.equal(search + pathname, '/ui/')
  })

  test('who has logged out is out, with all that he had', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    assert.equal((await ask('logout', posted({}))).status, 200)
    assert.equal((await ask('calls')).status, 401)
  })
})

describe('a page of somebody else', () => {
  test('gets no answer, be it another port of this host, another site, or a file', async t => {
    const made = await setting(t)
    const { cookie, key } = await made.opened()
    const own = { cookie, 'x-tapgate-ui': key }
    const from = [
      { origin: 'http://127.0.0.1:1' },
      { origin: 'http://localhost:1' },
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-site', origin: made.origin },
    ]
    for (const headers of from) {
      const get = await raw(made.origin, '/ui/api/calls', { ...own, ...headers } as Record<string, string>)
      assert.equal(get.status, 403, JSON.stringify(headers))
      const type = { 'content-type': 'application/json' }
      const post = await raw(
        made.origin,
        '/ui/api/reload',
        { ...own, ...type, ...headers } as Record<string, string>,
        'POST',
      )
      assert.equal(post.status, 403, JSON.stringify(headers))
      const opening = await raw(
        made.origin,
        '/ui/api/session',
        { ...type, ...headers } as Record<string, string>,
        'POST',
      )
      assert.equal(opening.status, 403, JSON.stringify(headers))
    }
    const same = await raw(made.origin, '/ui/api/calls', { ...own, 'sec-fetch-site': 'same-origin' })
    assert.equal(same.status, 200)
  })

  test('posts no form: bodies are JSON', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const reply = await ask('reload', { method: 'POST', headers: { 'content-type': type }, body: '{}' })
      assert.equal(reply.status, 415, type)
    }
  })

  test('whose name leads here by a trick of its DNS is not served', async t => {
    const made = await setting(t)
    const { cookie, key } = await made.opened()
    const { port } = new URL(made.origin)
    for (const path of ['/ui/', '/ui/api/calls', '/ui/page.js']) {
      const reply = await raw(made.origin, path, {
        cookie,
        'x-tapgate-ui': key,
        host: `evil.example:${port}`,
      })
      assert.equal(reply.status, 403, path)
    }
  })

  test('puts it in no frame, and runs no script in it', async t => {
    const { origin } = await setting(t)
    for (const path of ['', 'page.js', 'page.css', 'icon.svg', 'api/calls']) {
      const { headers } = await fetch(`${origin}/ui/${path}`)
      assert.match(String(headers.get('content-security-policy')), /frame-ancestors 'none'/, path)
      assert.match(String(headers.get('content-security-policy')), /default-src '(self|none)'/, path)
      assert.doesNotMatch(String(headers.get('content-security-policy')), /unsafe|data:|\*/, path)
      assert.equal(headers.get('x-frame-options'), 'DENY', path)
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path)
      assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin', path)
    }
    const html = await (await fetch(`${origin}/ui/`)).text()
    assert.doesNotMatch(html, /<script>|style=| on\w+=|https?:\/\//)
  })
})

describe('paths and bodies', () => {
  test('lead to no other file and around no check', async t => {
    const { origin } = await setting(t)
    const paths = [
      '..%2fpackage.json',
      '%2e%2e/package.json',
      'constructor',
      '__proto__',
      'page.js%00.css',
      'API/calls',
    ]
    for (const path of paths) assert.equal((await raw(origin, `/ui/${path}`)).status, 404, path)
    const guarded = ['/calls', '%63alls', 'calls/', '../api/calls', 'calls;x', '__proto__']
    for (const path of guarded) assert.ok([401, 404].includes((await raw(origin, `/ui/api/${path}`)).status), path)
  })

  test('that are broken, too large, or of another shape are refused in words', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    const type = { 'content-type': 'application/json' }
    const bodies = ['', '{', '[]', '{"name":"web"}', '{"name":"web","action":"destroy"}', '{"x":1}']
    for (const body of bodies) {
      const reply = await ask('server', { method: 'POST', headers: type, body })
      assert.equal(reply.status, 400, body)
      assert.match(await reply.text(), /"error"/)
    }
    const large = await ask('purge', {
      method: 'POST',
      headers: type,
      body: JSON.stringify({ name: 'x'.repeat(2 ** 21) }),
    })
    assert.equal(large.status, 413)
    for (const query of ['limit=0', 'limit=501', 'limit=x', 'limit=1e9', 'before=-1', 'limit=1.5'])
      assert.equal((await ask(`calls?${query}`)).status, 400, query)
    assert.equal((await ask('nothing')).status, 404)
    assert.equal((await ask('calls', posted({}))).status, 405)
    assert.equal(made.gateway.gateway.upstreams.get('web')?.status().state, 'ready')
  })
})
