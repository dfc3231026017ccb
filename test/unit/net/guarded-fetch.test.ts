import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import type { FetchOptions } from '../../../src/api/index.ts'
import { SILENT } from '../plugins/install.ts'
import { Canaries, codeOf, opened, serve, STRANGER } from './canaries.ts'
import { listenOn } from '../../fixtures/listen.ts'

test('redirects stay within the origin, end after three, and carry no credentials', async t => {
  const canaries = await Canaries.open(t)
  const seen: [string, string | undefined][] = []
  const origin = await serve(t, (request, response) => {
    seen.push([request.url ?? '', request.headers.authorization])
    const to: Record<string, string> = {
      '/one': '/end',
      '/away': `http://127.0.0.2:${canaries.port}/`,
      '/scheme': 'file:///etc/passwd',
      '/loop': '/loop',
    }
    const location = to[request.url ?? '']
    if (location === undefined) response.end('{"ok":true}')
    else response.writeHead(302, { location }).end()
  })
  const fetch = opened()
  const headers = { authorization: 'Bearer word' }
  const ask = (path: string, over: Partial<FetchOptions> = {}) =>
    fetch(origin + path, { namedBy: origin, headers, ...over })

  assert.deepEqual(await (await ask('/one')).json(), { ok: true })
  assert.deepEqual(seen.splice(0), [
    ['/one', 'Bearer word'],
    ['/end', undefined],
  ])
  for (const path of ['/away', '/scheme', '/loop']) assert.equal(await codeOf(ask(path)), 'GW_FETCH_REFUSED', path)
  assert.equal(seen.filter(([path]) => path === '/loop').length, 4)
  assert.equal((await ask('/away', { method: 'POST', body: 'x' })).status, 302)
  assert.equal(canaries.connections, 0)
})

test('a reply is bounded in size, in time, and in how it is packed', async t => {
  const origin = await serve(t, (request, response) => {
    if (request.url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    else if (request.url === '/large') response.end('x'.repeat(64 * 1024 + 1))
    else if (request.url === '/full') response.end('x'.repeat(64 * 1024))
    else if (request.url === '/head') response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    else if (request.url === '/empty') response.writeHead(204).end()
    else if (request.url === '/slow') response.write('x')
  })
  const fetch = opened()
  const ask = (path: string) => fetch(origin + path, { namedBy: origin, timeoutMs: path === '/slow' ? 200 : 10_000 })

  assert.equal((await (await ask('/full')).text()).length, 64 * 1024)
  assert.equal((await ask('/empty')).status, 204)
  for (const path of ['/large', '/packed', '/head', '/slow', '/silent'].with(4, '/slow'))
    assert.equal(await codeOf(ask(path)), 'GW_FETCH_FAILED', path)
})

test('what is asked at once is bounded', async t => {
  const origin = await serve(t, () => undefined)
  const fetch = opened()
  const stop = new AbortController()
  const many = Array.from({ length: 100 }, () =>
    codeOf(fetch(origin, { namedBy: origin, signal: stop.signal, timeoutMs: 60_000 })),
  )

  await assert.rejects(fetch(origin, { namedBy: origin }), /too many concurrent requests/)
  stop.abort()
  assert.deepEqual([...new Set(await Promise.all(many))], ['GW_FETCH_FAILED'])
})

test('a server that answers nothing of what it names keeps no other from being asked', async t => {
  const silent = await serve(t, () => undefined)
  const other = await serve(t, (_, response) => response.end('here'))
  const fetch = opened()
  const stop = new AbortController()
  const many = Array.from({ length: 120 }, () =>
    codeOf(fetch(silent, { namedBy: silent, signal: stop.signal, timeoutMs: 60_000 })),
  )

  assert.equal(await (await fetch(other, { namedBy: other })).text(), 'here')
  stop.abort()
  assert.deepEqual([...new Set(await Promise.all(many))], ['GW_FETCH_FAILED'])
})

test('neither the error nor the log tells what is secret in a URL, and the error not where a name leads', async () => {
  const lines: unknown[] = []
  const log = { ...SILENT, warn: (...line: unknown[]) => void lines.push(line) }
  const fetch = opened({ log })
  const error = await fetch('https://private.example.com/a?code=hush', { namedBy: STRANGER }).catch(String)

  assert.match(String(error), /https:\/\/private\.example\.com\/a refused: address is not public/)
  assert.doesNotMatch(String(error), /10\.0\.0\.1/)
  assert.match(JSON.stringify(lines), /10\.0\.0\.1/)
  assert.doesNotMatch(JSON.stringify(lines) + String(error), /hush/)
})

test('behind a proxy what leads to no public address here is not asked there', async t => {
  let asked = 0
  const proxy = createServer()
  proxy.on('connect', (_request, socket) => {
    asked++
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  const at = `http://127.0.0.1:${await listenOn(t, proxy)}`
  const fetch = opened({ environment: { HTTPS_PROXY: at, HTTP_PROXY: at } })
  const ask = (url: string) => codeOf(fetch(url, { namedBy: STRANGER, timeoutMs: 5000 }))

  const refused = ['private.example.com', '10.0.0.1', '[fd00::1]', '169.254.169.254', 'intranet', 'db.internal']
  for (const host of refused) assert.equal(await ask(`https://${host}/`), 'GW_FETCH_REFUSED', host)
  assert.equal(await ask('http://unknown.example.com/'), 'GW_FETCH_REFUSED')
  assert.equal(asked, 0)
  // A name that only the proxy knows is the proxy's to judge.
  assert.equal(await ask('https://unknown.example.com/'), 'GW_FETCH_FAILED')
  assert.equal(asked, 1)
})
