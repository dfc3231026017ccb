import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { definePlugin, withMembers } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { encodeRequest, parseMessage, writeRequest } from '../../../src/protocol/jsonrpc.ts'
import { unreadBytes, withoutMember } from '../../../src/protocol/unread-arguments.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { inOnePiece } from '../../../src/util/written.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { script } from '../fixtures/upstream-bench.ts'
import { answerTo, oldServer, type Said, wsServer } from '../upstreams/transports/network-upstream.ts'

/** Arguments with what JavaScript would write otherwise, and so long that they are left unread. */
const ARGUMENTS = `{ "big":9007199254740993, "text":"${'code \\"é\\u00e9\\n'.repeat(2000)}",\n "2":1.50,"1":[1e400] }`
const ONE_LINE = ARGUMENTS.replaceAll('\n', ' ')
const PARAMS = `{"name":"a__b","arguments":${ARGUMENTS},"__proto__":{"x":1},"_meta":{"m":1}}`

function read(params: string): JsonObject {
  const message = parseMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`))
  assert.ok(message.kind === 'request' && message.params !== undefined)
  return message.params
}

/** Both ways to write a request give the same. */
function written(params: JsonObject, received: JsonObject): string {
  const text = encodeRequest(1, 'm', params, received)
  assert.equal(inOnePiece(writeRequest(1, 'm', params, received)).toString(), text)
  return text.slice('{"jsonrpc":"2.0","id":1,"method":"m","params":'.length, -1)
}

describe('large arguments', () => {
  test('that nobody reads go on byte for byte, on one line, whatever changes beside them', () => {
    const params = read(PARAMS)
    const renamed = withMembers(params, { name: 'b', extra: true })
    const bare = withoutMember(renamed, '_meta')

    assert.equal(
      written(renamed, params),
      `{"name":"b","arguments":${ONE_LINE},"__proto__":{"x":1},"_meta":{"m":1},"extra":true}`,
    )
    assert.equal(
      written(bare, params),
      `{"name":"b","arguments":${ONE_LINE},"__proto__":{"x":1},"extra":true}`,
    )
    assert.ok(unreadBytes(params) !== undefined && unreadBytes(bare) !== undefined)
    assert.equal(({} as JsonObject).x, undefined)
  })

  test('are there for all who look: as a member, in a copy, in a clone, as JSON', () => {
    const value = JSON.parse(ARGUMENTS) as JsonObject
    assert.deepEqual(read(PARAMS).arguments, value)
    assert.deepEqual({ ...read(PARAMS) }.arguments, value)
    assert.deepEqual(structuredClone(read(PARAMS)).arguments, value)
    assert.equal(JSON.stringify(read(PARAMS).arguments), JSON.stringify(value))
    assert.deepEqual(Object.keys(read(PARAMS)), ['name', 'arguments', '__proto__', '_meta'])
  })

  test('that somebody has read go on as they came, and as they were changed', () => {
    const params = read(PARAMS)
    const args = params.arguments as JsonObject
    assert.ok(written(params, params).includes('"big":9007199254740993'), 'numbers keep their text')
    args.more = 1
    const text = written(withMembers(params, { name: 'b' }), params)
    assert.ok(text.includes('"big":9007199254740993') && text.includes('"more":1'), text.slice(0, 200))
  })

  test('give way to those that a plugin puts in their place', () => {
    const params = read(PARAMS)
    const copy = withMembers(params, { name: 'b' })
    copy.arguments = { only: 1 }
    assert.deepEqual(copy.arguments, { only: 1 })
    assert.ok(written(copy, params).includes('"arguments":{"only":1}'))
    assert.ok(written(withMembers(params, { arguments: { x: 2 } }), params).includes('"arguments":{"x":2}'))
    assert.ok(unreadBytes(params) !== undefined, 'the others keep theirs')
  })

  test('that are a list or a text are read as they always were', () => {
    const long = JSON.stringify('x'.repeat(40_000))
    assert.deepEqual(read(`{"arguments":[${long}]}`).arguments, ['x'.repeat(40_000)])
    assert.equal(read(`{"arguments":${long}}`).arguments, 'x'.repeat(40_000))
  })

  test('are found under a name with an escape, and refused where they stand twice', () => {
    const params = read(`{"\\u0061rguments":${ARGUMENTS}}`)
    assert.equal(written(params, params), `{"arguments":${ONE_LINE}}`)
    const twice = `{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":${ARGUMENTS},"\\u0061rguments":{}}}`
    assert.equal(parseMessage(Buffer.from(twice)).kind, 'malformed')
  })
})

describe('large arguments on the way', () => {
  const text = 'é"\n'.repeat(20_000)
  const adds = definePlugin<undefined>({
    name: 'adds',
    setup: ({ hooks }) => {
      hooks.call.tap({ methods: ['tools/call'] }, call => {
        const args = call.params?.arguments as JsonObject
        if (args.mode === 'change') call.params = { ...call.params, arguments: { ...args, added: 1 } }
      })
    },
  })

  for (const kind of ['stdio', 'http', 'sse', 'ws'] as const)
    test(`arrive over ${kind} whether a plugin reads, changes or passes them`, async t => {
      const up = await UPSTREAMS[kind](t)
      const seen: unknown[] = []
      for (const plugins of [[], [adds]]) {
        const gateway = await testGateway({ config: { upstreams: { up } }, plugins })
        closeAfter(t, gateway)
        for (const mode of ['pass', 'change']) seen.push(await argumentsSeen(gateway.url, { mode, text }))
      }
      assert.deepEqual(seen, [
        { mode: 'pass', text },
        { mode: 'change', text },
        { mode: 'pass', text },
        { mode: 'change', text, added: 1 },
      ])
    })
})

/** Calls the tool over HTTP; returns the arguments that the server got. */
async function argumentsSeen(url: string, args: JsonObject): Promise<unknown> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'up__raw', arguments: args, _meta: meta }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'up__raw',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, undefined, 1),
  })
  const said = (await response.json()) as { result?: { content: { text: string }[] } }
  assert.ok(said.result !== undefined, JSON.stringify(said))
  const line = Buffer.from(said.result.content[0]?.text ?? '', 'base64').toString()
  return (JSON.parse(line) as { params: JsonObject }).params.arguments
}

/** Answers of a server that gives back each call as it came. */
function echo(said: Said): string | undefined {
  if (said.method === 'tools/list')
    return answer(said, { tools: [{ name: 'raw', inputSchema: { type: 'object' } }] })
  if (said.method !== 'tools/call') return answerTo(said)
  return answer(said, {
    content: [{ type: 'text', text: Buffer.from(JSON.stringify(said)).toString('base64') }],
  })
}

function answer({ id }: Said, result: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

const UPSTREAMS: Record<'stdio' | 'http' | 'sse' | 'ws', (t: TestContext) => Promise<JsonObject>> = {
  stdio: () =>
    Promise.resolve({ type: 'stdio', command: process.execPath, args: [script('raw-echo-server.mjs')] }),
  http: async t => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.method !== 'POST') return void response.writeHead(405).end()
        const text = echo(JSON.parse(Buffer.concat(chunks).toString()) as Said)
        response.writeHead(text === undefined ? 202 : 200, { 'content-type': 'application/json' }).end(text)
      })
    })
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
    cleanup(t, () => void server.close())
    return { type: 'http', url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/` }
  },
  sse: async t => ({ type: 'sse', url: (await oldServer(t, { answer: echo })).url }),
  ws: async t => ({ type: 'ws', url: (await wsServer(t, echo)).url }),
}
