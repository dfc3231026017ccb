import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { rest } from '../../fixtures/by-token.ts'
import { taskServer } from '../../../fixtures/tasks.ts'
import { DECLARED, faceSetting } from '../agents/mcp/kit.ts'

/** The rule that refused a call, or `ran`. */
type Verdict = (args: JsonObject) => Promise<string>

interface Place {
  readonly files: TestUpstream
  readonly path: string
  at(path: string): URL
}

const POLICY = {
  deny: [
    { for: 'files__read', when: 'args.?path.orValue("").startsWith("/etc")', name: 'no-etc' },
    { for: 'files__read', when: 'has(args.from) && request.remote != args.from', name: 'elsewhere' },
  ],
  ask: [{ for: 'files__read', when: 'args.?path.orValue("") == "/ask"', name: 'ask-first' }],
}

async function serve(t: TestContext): Promise<Place> {
  const files = closeAfter(t, await testUpstream({ tools: { read: () => 'ran' } }))
  const directory = await mkdtemp(join(tmpdir(), 'roads-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const path = join(directory, 'mcp.sock')
  const main = { type: 'http', port: 0, sse: { path: '/sse', messages: '/messages' }, ws: { path: '/ws' } }
  const listeners = { main, pipe: { type: 'socket', path } }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { files }, config: { policy: POLICY, rest: {}, listeners } as never }),
  )
  return { files, path, at: to => new URL(to, gateway.url) }
}

/** The rule in an error, however the road says it. */
function ruleIn(error: unknown): string {
  const { data, rule } = (error ?? {}) as { data?: { rule?: string }; rule?: string }
  return data?.rule ?? rule ?? JSON.stringify(error)
}

function textIn(result: JsonObject | undefined): string {
  const [block] = (result?.content ?? []) as { text?: string }[]
  return block?.text ?? JSON.stringify(result)
}

async function sdk(t: TestContext, transport: Transport): Promise<Verdict> {
  const client = new Client({ name: 'c', version: '1' })
  await client.connect(transport)
  cleanup(t, () => client.close())
  return args =>
    client.callTool({ name: 'files__read', arguments: args }).then(
      result => textIn(result as JsonObject),
      (error: unknown) => ruleIn(error),
    )
}

async function own(t: TestContext, { at }: Place, era: 'modern' | 'legacy'): Promise<Verdict> {
  const client = closeAfter(t, await testClient({ url: at('/mcp').href }, { era }))
  return async args => {
    const { result, error } = await client.request('tools/call', { name: 'files__read', arguments: args })
    return error === undefined ? textIn(result) : ruleIn(error)
  }
}

function viaRest({ at }: Place): Verdict {
  return async args => {
    const reply = await fetch(at('/tools/call'), rest('files__read', args))
    const body = (await reply.json()) as JsonObject
    return reply.ok ? textIn(body) : ruleIn(body)
  }
}

/** A legacy client on a pipe: one call alone, or in the middle of a batch. */
async function piped(t: TestContext, { path }: Place, isBatch: boolean): Promise<Verdict> {
  const socket: Socket = connect(path)
  cleanup(t, () => void socket.destroy())
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const send = (message: unknown): void => void socket.write(`${JSON.stringify(message)}\n`)
  const answered = async (id: number): Promise<JsonObject> => {
    for (;;) {
      const message: unknown = JSON.parse(String((await lines.next()).value))
      const all = Array.isArray(message) ? message : [message]
      const found = all.filter(isObject).find(one => one.id === id)
      if (found !== undefined) return found
    }
  }
  const request = (id: number, method: string, params: JsonObject): JsonObject => ({
    ...{ jsonrpc: '2.0', id, method },
    params,
  })
  const clientInfo = { name: 'c', version: '1' }
  send(request(1, 'initialize', { protocolVersion: '2025-03-26', capabilities: {}, clientInfo }))
  await answered(1)
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  let next = 1
  return async args => {
    const call = request(++next, 'tools/call', { name: 'files__read', arguments: args })
    send(isBatch ? [request(++next, 'ping', {}), call, request(++next, 'ping', {})] : call)
    const { result, error } = await answered(Number(call.id))
    return error === undefined ? textIn(result as JsonObject) : ruleIn(error)
  }
}

const ROADS: Readonly<Record<string, (t: TestContext, place: Place) => Verdict | Promise<Verdict>>> = {
  'HTTP of 2026-07-28': (t, place) => own(t, place, 'modern'),
  'HTTP of 2025-11-25': (t, place) => own(t, place, 'legacy'),
  'HTTP of the SDK': (t, { at }) => sdk(t, new StreamableHTTPClientTransport(at('/mcp'))),
  'HTTP+SSE': (t, { at }) => sdk(t, new SSEClientTransport(at('/sse'))),
  WebSocket: (t, { at }) => sdk(t, new WebSocketClientTransport(new URL(at('/ws').href.replace('http', 'ws')))),
  REST: (_t, place) => viaRest(place),
  'a pipe': (t, place) => piped(t, place, false),
  'a batch': (t, place) => piped(t, place, true),
}

test('a rule tells calls over REST from those over MCP', async t => {
  const files = closeAfter(t, await testUpstream({ tools: { read: () => 'ran' } }))
  const policy = { deny: [{ for: 'files__read', when: 'client.via == "rest"', name: 'no-rest' }] }
  const { url } = closeAfter(t, await testGateway({ upstreams: { files }, config: { policy, rest: {} } as never }))
  const place = { files, path: '', at: (to: string) => new URL(to, url) }
  assert.equal(await viaRest(place)({}), 'no-rest')
  assert.equal(await (await own(t, place, 'modern'))({}), 'ran')
})

for (const [road, open] of Object.entries(ROADS))
  test(`a call over ${road} is judged as any other`, async t => {
    const place = await serve(t)
    const verdict = await open(t, place)
    const own = road === 'a pipe' || road === 'a batch' ? '' : '127.0.0.1'

    assert.equal(await verdict({ path: '/etc/passwd' }), 'no-etc')
    assert.equal(await verdict({ path: '/ask' }), 'ask-first')
    assert.equal(await verdict({ from: '192.0.2.1' }), 'elsewhere')
    assert.equal(place.files.listCalls('tools/call').length, 0)
    assert.equal(await verdict({ path: '/srv/a' }), 'ran')
    assert.equal(await verdict({ from: own }), 'ran')
    assert.equal(place.files.listCalls('tools/call').length, 2)
  })

for (const era of ['modern', 'legacy'] as const)
  for (const server of ['modern', 'legacy'] as const)
    test(`a call that a ${era} client makes a task, before a ${server} server, is judged as any other`, async t => {
      const t1 = closeAfter(t, await taskServer(server))
      const policy = {
        deny: [{ for: 'slow_compute', when: 'args.?seconds.orValue(0.0) > 100.0', name: 'too-slow' }],
        ask: [{ for: 'slow_compute', when: 'args.?label.orValue("") == "ask"', name: 'ask-first' }],
      }
      const config = { policy, upstreams: { t: { type: 'http', url: t1.url, prefix: '' } } } as never
      const gateway = closeAfter(t, await testGateway({ config }))
      const client = closeAfter(t, await testClient(gateway, { era, capabilities: DECLARED }))
      const task = era === 'legacy' ? { task: { ttl: 60_000 } } : {}
      const call = async (args: JsonObject): Promise<string> => {
        const params = { name: 'slow_compute', arguments: args, ...task }
        const { result, error } = await client.request('tools/call', params)
        if (error !== undefined) return ruleIn(error)
        const id = ((result?.task ?? result) as JsonObject).taskId
        return typeof id === 'string' ? endOf(client, id) : textIn(result)
      }

      assert.equal(await call({ seconds: 101 }), 'too-slow')
      assert.equal(await call({ label: 'ask' }), 'ask-first')
      assert.equal(t1.listCalls('tools/call').length, 0)
      await call({ seconds: 0 })
      assert.equal(t1.listCalls('tools/call').length, 1)
    })

/** The rule that a task failed by, or the state that it is in. */
async function endOf(
  client: { request(method: string, params: JsonObject): Promise<{ result?: JsonObject; error?: unknown }> },
  taskId: string,
): Promise<string> {
  for (;;) {
    const { result } = await client.request('tasks/get', { taskId })
    if (result?.status === 'working') continue
    if (result?.status !== 'failed') return String(result?.status)
    const { error } = await client.request('tasks/result', { taskId })
    return ruleIn(result.error ?? error)
  }
}

test('a task for an agent is judged by the arguments of its tool', async t => {
  const policy = {
    deny: [{ for: 'delegate_task', when: 'args.?prompt.orValue("").contains("rm -rf")', name: 'no-rm' }],
    ask: [{ for: 'delegate_task', when: 'args.?prompt.orValue("") == "deploy"', name: 'ask-first' }],
  }
  const { service, client } = await faceSetting(t, {}, { config: { policy } })
  const caller = await client()
  const call = async (prompt: string): Promise<string> => {
    const { result, error } = await caller.request('tools/call', {
      ...{ name: 'delegate_task', arguments: { prompt } },
    })
    return error === undefined ? textIn(result) : ruleIn(error)
  }

  assert.equal(await call('please rm -rf /'), 'no-rm')
  assert.equal(await call('deploy'), 'ask-first')
  const begun = service.next()
  const running = call('review')
  const { view, request } = await begun
  assert.equal(request.prompt, 'review')
  void service.complete(view.id, 'all is well')
  assert.match(await running, /all is well/)
})
