import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { bench, httpSpec, sseSpec, stdioSpec, textOf, toolCall, wsSpec } from '../../fixtures/upstream-bench.ts'
import { oldServer, type Said, wsServer } from '../transports/network-upstream.ts'
import { replies } from './other-types-server.ts'

type Spec = Parameters<typeof bench>[1]

const SERVERS: Readonly<Record<string, (t: TestContext) => Promise<Spec>>> = {
  stdio: async () => stdioSpec([fileURLToPath(new URL('other-types-server.ts', import.meta.url))]),
  HTTP: async t => httpSpec(await streamingServer(t)),
  'HTTP+SSE': async t => {
    const answer = (said: Said): string | undefined => joined(said)
    return sseSpec((await oldServer(t, { answer })).url)
  },
  WebSocket: async t => {
    const server = await wsServer(t, said => {
      for (const reply of replies(said)) server.sockets.at(-1)?.send(reply)
      return undefined
    })
    return wsSpec(server.url)
  },
}

/** All messages as the data of one event and those behind it. */
function joined(said: Said): string | undefined {
  return replies(said).join('\n\nevent: message\ndata: ') || undefined
}

async function streamingServer(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    void text(request).then(body => {
      const data = joined(JSON.parse(body) as Said)
      if (data === undefined) return response.writeHead(202).end()
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${data}\n\n`)
    })
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const [name, make] of Object.entries(SERVERS))
  test(`answers, progress and cancellations are matched whose ids have the other JSON type: ${name}`, async t => {
    const it = await bench(t, await make(t))
    it.reply = () => new Promise(() => undefined)
    const call = toolCall('any', {}, { progressToken: 'mine' }, { capabilities: { elicitation: {} } })

    assert.equal(textOf(await it.upstream.dispatch(call)), 'done')

    assert.deepEqual(
      call.emitted.map(({ params }) => params),
      [{ progressToken: 'mine', progress: 1 }],
    )
    assert.deepEqual(
      it.asked.map(({ ask }) => ask.isCancelled),
      [true, true],
    )
    assert.equal(it.upstream.dropped, undefined)
  })

/** Pings with each id when it is called, and answers with the lines that come back. */
const PINGING = `
const ids = process.argv.slice(1), lines = []
let call
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  if (method === 'initialize')
    answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } })
  else if (method === 'tools/call') {
    call = id
    for (const id of ids) console.log('{"jsonrpc":"2.0","id":' + id + ',"method":"ping"}')
  } else if (method === undefined && lines.push(line) === ids.length)
    answer(call, { content: [{ type: 'text', text: lines.join(' ') }] })
  else if (id !== undefined && method !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }))
})`

test('a ping of a server is answered with all digits of its id', async t => {
  const ids = ['9007199254740993', '9007199254740992', '-123456789012345678901234567890']
  const { upstream } = await bench(t, stdioSpec(['-e', PINGING, ...ids]))

  const answers = textOf(await upstream.dispatch(toolCall('any', {})))

  for (const id of ids) assert.ok(answers.includes(`"id":${id},`), answers)
})
