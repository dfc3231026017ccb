import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway, type TestGateway } from '../../../src/testing/index.ts'
import { modern, rest } from '../fixtures/by-token.ts'
import { stdioOn } from '../fixtures/stdio-on.ts'
import { Lines } from '../listeners/http/client.ts'
import { openOldStream, talk } from '../listeners/http/network.ts'

/** The secret is none that the gateway knows, so only the border between owner and callers keeps it. */
const SECRET = 'what-only-the-server-knows'
const SCRIPT = `console.error('token=${SECRET}'); process.exit(1)`
const CALL = { method: 'tools/call', params: { name: 'a__x', arguments: {} } }
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

type Ask = (gateway: TestGateway, t: TestContext) => Promise<unknown>

/** A call by every way into the gateway, and what came back. */
const ROADS: Readonly<Record<string, Ask>> = {
  'HTTP, modern': async ({ url }) => (await fetch(url ?? '', modern(CALL.method, CALL.params))).text(),
  'HTTP, legacy': async (gateway, t) =>
    closeAfter(t, await testClient(gateway, { era: 'legacy' })).request(CALL.method, CALL.params),
  'a batch': async ({ url }) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const post = (body: unknown, session = {}): Promise<Response> =>
      fetch(url ?? '', {
        method: 'POST',
        headers: { ...headers, ...session },
        body: JSON.stringify(body),
      })
    const hello = { ...HELLO, protocolVersion: '2025-03-26' }
    const first = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello })
    await first.text()
    const session = { 'mcp-session-id': first.headers.get('mcp-session-id') ?? '' }
    await (await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).text()
    return (
      await post(
        [1, 2].map(id => ({ jsonrpc: '2.0', id, ...CALL })),
        session,
      )
    ).text()
  },
  REST: async ({ url }) => (await fetch(new URL('/tools/call', url), rest('a__x'))).text(),
  'HTTP+SSE': async ({ url }) => {
    const stream = await openOldStream(new URL('/sse', url))
    await stream.post({ id: 0, method: 'initialize', params: { ...HELLO, protocolVersion: '2024-11-05' } })
    await stream.next()
    await stream.post({ id: 1, ...CALL })
    const answer = await stream.next()
    stream.close()
    return answer
  },
  WebSocket: async ({ url }) => {
    const socket = await talk(new URL('/ws', url))
    socket.send({ id: 0, method: 'initialize', params: HELLO })
    await socket.next()
    socket.send({ id: 1, ...CALL })
    const answer = await socket.next()
    socket.socket.terminate()
    return answer
  },
}

test('what a server says on stderr reaches its owner, and no caller by any way in', async t => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const config = {
    listeners: {
      main: { type: 'http', port: 0, sse: { path: '/sse', messages: '/messages' }, ws: { path: '/ws' } },
      pipe: { type: 'stdio' },
    },
    rest: {},
    upstreams: { a: { type: 'stdio', command: process.execPath, args: ['-e', SCRIPT] } },
  }
  const gateway = closeAfter(t, await testGateway({ config, plugins: [stdioOn({ input, output })] }))

  for (const [road, ask] of Object.entries(ROADS)) {
    await t.test(road, async () => assertPublic(await ask(gateway, t)))
  }
  await t.test('a pipe', async () => {
    const lines = new Lines(output)
    for (const message of [
      { id: 0, method: 'initialize', params: HELLO },
      { id: 1, ...CALL },
    ])
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    await lines.next()
    assertPublic(await lines.next())
  })
  await t.test('the owner', async () => {
    const shown = JSON.stringify([await gateway.gateway.control('ps'), await gateway.gateway.inspect()])
    assert.match(shown, new RegExp(`exited with code 1; last message: token=${SECRET}`))
    const failed = gateway.log.find(({ message }) => message === 'upstream not available')
    assert.match(String(failed?.problem), new RegExp(SECRET))
  })
})

function assertPublic(answer: unknown): void {
  const text = JSON.stringify(answer)
  assert.match(text, /exited with code 1/)
  assert.doesNotMatch(text, new RegExp(SECRET))
}
