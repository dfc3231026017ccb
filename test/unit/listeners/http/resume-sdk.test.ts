import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { defaultAnswer, result } from './fake-gate.ts'
import { serve } from './client.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

interface Line {
  readonly url: URL
  /** Breaks all connections there are. */
  cut(): void
}

/** A network that breaks when it is told to. */
async function lineTo(t: TestContext, { host, hostname, port }: URL): Promise<Line> {
  const sockets = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  server.listen(0, hostname)
  await once(server, 'listening')
  const cut = (): void => sockets.forEach(socket => socket.destroy())
  cleanup(t, () => {
    cut()
    server.close()
  })
  const own = (server.address() as AddressInfo).port
  return { url: new URL(`http://${host.replace(port, String(own))}/mcp`), cut }
}

interface Caller {
  call(onprogress: () => void): Promise<unknown>
  close(): Promise<void>
}

const CAPABILITIES = { capabilities: { elicitation: {} } }
const REPLY = { action: 'accept' as const, content: { name: 'Ann' } }

async function callerV1(url: URL, fetch = globalThis.fetch): Promise<Caller> {
  const client = new ClientV1({ name: 'v1', version: '1' }, CAPABILITIES)
  client.setRequestHandler(ElicitRequestSchema, async () => REPLY)
  await client.connect(new TransportV1(url, { fetch }))
  return {
    call: onprogress => client.callTool({ name: 'x' }, undefined, { onprogress }),
    close: () => client.close(),
  }
}

async function callerV2(url: URL): Promise<Caller> {
  const client = new ClientV2({ name: 'v2', version: '1' }, { ...CAPABILITIES, versionNegotiation: { mode: 'legacy' } })
  client.setRequestHandler('elicitation/create', async () => REPLY)
  await client.connect(new TransportV2(url))
  return { call: onprogress => client.callTool({ name: 'x' }, { onprogress }), close: () => client.close() }
}

for (const [name, caller] of Object.entries({ v1: callerV1, v2: callerV2 })) {
  test(`a client of SDK ${name} is asked and answered although its connections broke`, async t => {
    const { gate, url } = await serve(t)
    gate.answering = seen => (seen.inbound.method === 'tools/call' ? undefined : defaultAnswer(seen))
    const line = await lineTo(t, url)
    const client = await caller(line.url)
    cleanup(t, () => client.close())
    const next = gate.next('tools/call')
    let onProgress = (): void => undefined
    const progressed = new Promise<void>(resolve => (onProgress = resolve))

    const answer = client.call(onProgress)
    const seen = await next
    const meta = seen.inbound.params?._meta as { progressToken: number }
    seen.emit('notifications/progress', { progressToken: meta.progressToken, progress: 1 })
    await progressed
    line.cut()
    const form = { type: 'object', properties: { name: { type: 'string' } } }
    const reply = await seen.ask('elicitation/create', { message: 'Your name?', requestedSchema: form })
    line.cut()
    seen.resolve(result({ content: [{ type: 'text', text: 'done' }] }))

    assert.deepEqual(reply, { result: REPLY })
    assert.deepEqual(await answer, { content: [{ type: 'text', text: 'done' }] })
  })
}
