import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSON_HEADERS, modern, send, serve, SPEC } from './client.ts'

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

  for (const origin of ['http://localhost:5173', 'https://127.0.0.1', 'http://[::1]:1', 'https://app.example'])
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
    [`{"jsonrpc":"2.0","id":4,"method":"x","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`, -32600, null],
  ]

  for (const [body, code, id] of cases) {
    const got = await send(url, { headers: JSON_HEADERS, body })
    assert.deepEqual([got.status, got.json.error.code, got.json.id], [400, code, id], String(body))
  }
  assert.equal(gate.seen.length, 0)
})
