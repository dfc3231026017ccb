import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { GatewayError } from '../../src/errors.ts'
import { listenHttp } from '../../src/transport/listen-http.ts'
import { FakeGate, makeListener, realClock, result } from './listen-fake-gate.ts'
import { JSON_HEADERS, modern, send, serve, SPEC } from './listen-http-client.ts'

const CALL = modern('tools/list')

test('only our own hosts are answered, on every path', async t => {
  const { url } = await serve(t, { allowedHosts: ['mcp.example.com', 'other.example:99'] })
  const status = async (host: string, path = '/mcp') =>
    (await send(url, { ...CALL, path, headers: { ...CALL.headers, host } })).status

  const fine = [
    'localhost',
    'LOCALHOST:1',
    '127.0.0.1:8080',
    '[::1]:80',
    '[::1]',
    'mcp.example.com',
    'mcp.example.com:443',
    'other.example:99',
  ]
  const hostile = [
    'evil.example',
    'other.example',
    'localhost.evil.example',
    '127.0.0.1.evil',
    'localhost@evil',
    'localhost:80:80',
    'localhost:',
    'localhost:x',
    'localhost.',
  ]
  for (const host of fine) assert.equal(await status(host), 200, host)
  for (const host of hostile) assert.equal(await status(host), 403, host)
  for (const path of ['/livez', '/readyz', '/x']) assert.equal(await status('evil.example', path), 403, path)
})

test('an Origin must be local, our own or allowed', async t => {
  const { url } = await serve(t, {
    allowedOrigins: ['https://app.example'],
    allowedHosts: ['mcp.example.com'],
  })
  const status = async (origin: string, host = 'localhost') =>
    (await send(url, { ...CALL, headers: { ...CALL.headers, origin, host } })).status

  for (const origin of [
    'http://localhost:5173',
    'https://127.0.0.1',
    'http://[::1]:1',
    'https://app.example',
  ])
    assert.equal(await status(origin), 200, origin)
  assert.equal(await status('https://mcp.example.com', 'mcp.example.com'), 200)
  for (const origin of [
    'null',
    'https://evil.example',
    'http://localhost.evil',
    'https://app.example.evil',
    'file://',
    'http://localhost:5173/x',
    '',
  ]) {
    assert.equal(await status(origin), 403, origin)
  }
})

test('a page of an allowed origin may ask beforehand, and read the session id', async t => {
  const { url } = await serve(t, { allowedOrigins: ['https://app.example'] })
  const origin = 'https://app.example'

  const preflight = await send(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-param-x',
    },
  })
  const call = await send(url, { ...CALL, headers: { ...CALL.headers, origin } })
  const evil = await send(url, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })

  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], origin)
  assert.equal(preflight.headers['access-control-allow-headers'], 'content-type,mcp-param-x')
  assert.match(preflight.headers['access-control-allow-methods'] ?? '', /POST/)
  assert.equal(call.headers['access-control-allow-origin'], origin)
  assert.match(call.headers['access-control-expose-headers'] ?? '', /Mcp-Session-Id/)
  assert.equal(evil.status, 403)
  assert.equal(evil.headers['access-control-allow-origin'], undefined)
})

test('headers that decide something may stand only once', async t => {
  const { url } = await serve(t)

  for (const name of [
    'Host',
    'Origin',
    'Authorization',
    'Mcp-Method',
    'Mcp-Session-Id',
    'X-Session-ID',
    'Content-Type',
  ]) {
    const text = await raw(url, [
      'POST /mcp HTTP/1.1',
      'Host: localhost',
      'Content-Length: 2',
      'Connection: close',
      `${name}: localhost`,
      `${name}: localhost`,
      '',
      '{}',
    ])
    assert.match(text, /^HTTP\/1\.1 400 /, name)
  }
})

test('more than a hundred headers are refused', async t => {
  const { url } = await serve(t)
  const more = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'y']))

  const got = await send(url, { ...CALL, headers: { ...CALL.headers, ...more } })

  assert.equal(got.status, 431)
})

test('a body must be plain JSON', async t => {
  const { url } = await serve(t)
  const status = async (headers: Record<string, string>) =>
    (await send(url, { ...CALL, headers: { ...CALL.headers, ...headers } })).status

  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; v=1',
  ]) {
    assert.equal(await status({ 'content-type': type }), 200, type)
  }
  for (const type of [
    'text/plain',
    'application/jsonp',
    'application/json; charset=utf-16',
    'x/application/json',
    'application/json-seq',
  ]) {
    assert.equal(await status({ 'content-type': type }), 415, type)
  }
  assert.equal(await status({ 'content-encoding': 'gzip' }), 415)
  assert.equal(await status({ 'content-encoding': 'identity' }), 200)
})

test('a body over the limit is refused and its sender can read why, chunked or not', async t => {
  const { gate, url } = await serve(t, { limits: { ...SPEC.limits, body: '64KiB' } })
  const body = 'x'.repeat(300_000)

  const measured = await send(url, {
    headers: { ...JSON_HEADERS, 'content-length': String(body.length) },
    body,
  })
  const chunked = await send(url, { headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }, body })
  const exact = await send(url, { headers: JSON_HEADERS, body: 'x'.repeat(65_536) })

  assert.equal(measured.status, 413)
  assert.equal(chunked.status, 413)
  assert.equal(exact.status, 400)
  assert.equal(gate.seen.length, 0)
})

test('what is no message is refused with the code and the id it has', async t => {
  const { gate, url } = await serve(t)
  const cases: [body: string | Buffer, code: number, id: unknown][] = [
    ['', -32700, null],
    ['{', -32700, null],
    ['"x"', -32600, null],
    [Buffer.from([0x7b, 0xff, 0x7d]), -32700, null],
    ['{"jsonrpc":"1.0","id":3,"method":"x"}', -32600, 3],
    ['{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, null],
    ['{"jsonrpc":"2.0","id":4,"method":"x","method":"y"}', -32600, null],
    [`{"jsonrpc":"2.0","id":4,"method":"x","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`, -32600, null],
  ]

  for (const [body, code, id] of cases) {
    const got = await send(url, { headers: JSON_HEADERS, body })
    assert.deepEqual([got.status, got.json?.error.code, got.json?.id], [400, code, id], String(body))
  }
  assert.equal(gate.seen.length, 0)
})

test('probes tell that we live, whether we can serve, and no reasons', async t => {
  const { gate, url } = await serve(t)

  const live = await send(url, { method: 'GET', path: '/livez' })
  const ready = await send(url, { method: 'GET', path: '/readyz' })
  gate.ready = { ready: false, upstreams: {} }
  const unready = await send(url, { method: 'GET', path: '/readyz' })
  const head = await send(url, { method: 'HEAD', path: '/livez' })

  assert.equal(live.status, 200)
  assert.deepEqual(ready.json, {
    ready: true,
    upstreams: { files: { state: 'ready' }, web: { state: 'failed' } },
  })
  assert.equal(unready.status, 503)
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('other paths are 404 in JSON, other methods 405', async t => {
  const { url } = await serve(t)

  const unknown = await send(url, { method: 'GET', path: '/.well-known/oauth-protected-resource' })
  const put = await send(url, { method: 'PUT', body: '{}' })
  const query = await send(url, { ...CALL, path: '/mcp?x=1' })

  assert.deepEqual([unknown.status, unknown.json.error], [404, 'not_found'])
  assert.deepEqual([put.status, put.headers.allow], [405, 'GET, POST, DELETE, OPTIONS'])
  assert.equal(query.status, 200)
})

test('requests that come in one packet are answered in order', async t => {
  const { url } = await serve(t)
  const { body } = modern('tools/list', {}, 1)
  const second = modern('tools/list', {}, 2).body
  const head = (length: number, more: string[] = []) => [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Mcp-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/list',
    `Content-Length: ${length}`,
    ...more,
    '',
  ]

  const text = await raw(url, [
    ...head(body.length),
    body + head(second.length, ['Connection: close']).join('\r\n'),
    second,
  ])

  assert.ok(text.indexOf('"id":1') > 0 && text.indexOf('"id":2') > text.indexOf('"id":1'))
})

test('an address that others reach needs the configuration to say so', () => {
  const make = (spec: object) => makeListener(listenHttp, { ...SPEC, ...spec }, new FakeGate(), realClock)

  for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.com']) {
    assert.throws(
      () => make({ host }),
      (error: unknown) => error instanceof GatewayError && error.code === 'GW_LISTEN',
    )
    make({ host, exposeWithoutAuth: true })
  }
  for (const host of ['localhost', '127.0.0.1', '127.0.0.2', '::1', '[::1]']) make({ host })
})

test('a port that is taken is an error that names the address', async t => {
  const { url } = await serve(t)
  const second = makeListener(listenHttp, { ...SPEC, port: Number(url.port) }, new FakeGate(), realClock)

  await assert.rejects(
    second.start(),
    (error: unknown) =>
      error instanceof GatewayError && error.code === 'GW_LISTEN' && error.message.includes(url.port),
  )
  await second.stop(0)
})

test('more connections than the limit are turned away', async t => {
  const { url } = await serve(t, { limits: { ...SPEC.limits, connections: 2 } })
  const sockets = [connect(Number(url.port), url.hostname), connect(Number(url.port), url.hostname)]
  await Promise.all(sockets.map(socket => once(socket, 'connect')))

  await assert.rejects(send(url, CALL))
  for (const socket of sockets) socket.destroy()
})

test('a stop does not wait for connections that say nothing', async t => {
  const { listener, url } = await serve(t)
  const silent = connect(Number(url.port), url.hostname)
  await once(silent, 'connect')
  await send(url, CALL)
  const closed = once(silent, 'close')
  silent.resume()

  const started = performance.now()
  await listener.stop(8000)
  await closed

  assert.ok(performance.now() - started < 4000)
})

test('what a gate answers that cannot be written is an internal error without its text', async t => {
  const { gate, url } = await serve(t)
  gate.answering = () => result({ big: 1n as unknown as number })

  const got = await send(url, CALL)

  assert.equal(got.json.error.code, -32603)
  assert.doesNotMatch(got.text, /BigInt/)
})

async function raw(url: URL, lines: string[]): Promise<string> {
  const socket = connect(Number(url.port), url.hostname)
  socket.setEncoding('utf8')
  let text = ''
  socket.on('data', chunk => (text += chunk))
  socket.write(lines.join('\r\n'))
  await once(socket, 'close')
  return text
}
