import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { legacy, modern, peer, result, said } from '../../fixtures/http-peer.ts'
import { bench, callOf, httpSpec } from '../../fixtures/upstream-bench.ts'
const MODERN = { era: 'modern', version: '2026-07-28' } as const

describe('the headers of a request', () => {
  it('of a modern server say what its body says, and carry the parameters', async t => {
    const server = await peer(
      t,
      modern((heard, response) => result(response, heard, { resultType: 'complete', ...said('ok') })),
    )
    const { upstream } = await bench(t, httpSpec(server.url, { headers: { Authorization: 'Bearer s' } }))
    const call = callOf(
      'tools/call',
      { name: 'größe', _meta: { progressToken: 'mine', other: 1 } },
      { ...MODERN, logLevel: 'info', capabilities: TASKS },
      HEADERS,
    )

    await upstream.dispatch(call)

    const { headers, message } = server.of('tools/call')[0] ?? assert.fail()
    assert.equal(headers['mcp-protocol-version'], '2026-07-28')
    assert.equal(headers['mcp-method'], 'tools/call')
    assert.equal(headers['mcp-name'], '=?base64?Z3LDtsOfZQ==?=')
    assert.equal(headers['mcp-param-region'], 'eu')
    assert.equal(headers['x-session-id'], 's1')
    assert.equal(headers.authorization, 'Bearer s')
    assert.equal(headers.accept, 'application/json, text/event-stream')
    assert.equal(headers['mcp-session-id'], undefined)
    assert.deepEqual(message.params?._meta, {
      other: 1,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test-client', version: '9' },
      'io.modelcontextprotocol/clientCapabilities': { sampling: {}, extensions: { 'a/b': {} } },
      'io.modelcontextprotocol/logLevel': 'info',
      progressToken: message.id,
    })
  })

  it('of a legacy server carry its session and the version agreed on', async t => {
    const server = await peer(
      t,
      legacy((heard, response) => result(response, heard, said('ok'))),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    await upstream.dispatch(callOf('tools/call', { name: 'a' }, {}, HEADERS))
    await upstream.stop()

    const { headers } = server.of('tools/call')[0] ?? assert.fail()
    assert.equal(headers['mcp-session-id'], 'session-1')
    assert.equal(headers['mcp-protocol-version'], '2025-06-18')
    assert.equal(headers['mcp-method'], undefined)
    assert.equal(headers.host, new URL(server.url).host)
    assert.equal(server.of('initialize')[0]?.headers['mcp-protocol-version'], undefined)
    assert.equal(server.of('notifications/initialized')[0]?.headers['mcp-session-id'], 'session-1')
    assert.equal(server.heard.at(-1)?.verb, 'DELETE')
  })

  it('that cannot be written fail their call alone', async t => {
    const server = await peer(
      t,
      modern((heard, response) => result(response, heard, said('ok'))),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    await assert.rejects(
      upstream.dispatch(callOf('tools/call', { name: 'a' }, {}, { 'x-bad': 'a\nb' })),
      /invalid HTTP request/,
    )

    assert.equal(upstream.state, 'ready')
  })

  const TASKS = { sampling: {}, extensions: { 'io.modelcontextprotocol/tasks': {}, 'a/b': {} } }
  const HEADERS = {
    'mcp-param-region': 'eu',
    'x-session-id': 's1',
    authorization: 'Bearer stolen',
    host: 'evil',
    'mcp-session-id': 'x',
    'content-type': 'text/plain',
    cookie: 'c',
  }
})
