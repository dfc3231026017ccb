import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { copyNumberNotes, hasExactNumbers, parseJson, stringifyJson } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'

const SERVER = join(import.meta.dirname, '../../fixtures/servers/raw-asking-server.mjs')
test('arguments inside of a call go on as they were written', () => {
  const inner = '{"big":9007199254740993,"half":1.50,"text":"a"}'
  const text = `{"_meta":{"n":1.0},"name":"call_tool","arguments":{"name":"up__x","arguments":${inner}}}`
  const received = parseJson(text) as JsonObject
  const carried = { ...received, name: 'up__x', arguments: (received.arguments as JsonObject).arguments }
  copyNumberNotes(carried, received)
  assert.equal(hasExactNumbers(carried), false)
  assert.equal(stringifyJson({ ...carried, name: 'x' }, carried), `{"_meta":{"n":1.0},"name":"x","arguments":${inner}}`)
})

const ACCEPTED = { action: 'accept', content: {} }
const ASK = Buffer.from('{"message":"?","requestedSchema":{"type":"object","properties":{}}}').toString('base64')
const CARRIED = { name: 'call_tool', arguments: { name: 'up__ask', arguments: { ask: ASK } } }

function asking(t: TestContext) {
  const up = { type: 'stdio', command: process.execPath, args: [SERVER] }
  return testGateway({ config: { surface: { mode: 'search' }, upstreams: { up } } }).then(gateway =>
    closeAfter(t, gateway),
  )
}

function replyOf(result: JsonObject | undefined): string {
  const [content] = result?.content as { text: string }[]
  return Buffer.from(content?.text ?? '', 'base64').toString()
}

test('a server asks a modern client in the middle of a call that was carried', async t => {
  const gateway = await asking(t)
  const client = closeAfter(t, await testClient(gateway, { capabilities: { elicitation: {} } }))
  const { result } = await client.request('tools/call', CARRIED)
  assert.equal(result?.resultType, 'input_required')
  const { requestState, inputRequests } = result as { requestState: string; inputRequests: JsonObject }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, ACCEPTED]))
  const again = await client.request('tools/call', { ...CARRIED, requestState, inputResponses })
  assert.match(replyOf(again.result), /"action":"accept"/)
})

test('a server asks a legacy client in the middle of a call that was carried', async t => {
  const { gateway } = await asking(t)
  const transport = gateway.transport()
  const end = new Promise<JsonObject>(resolve => {
    transport.onmessage = message => {
      const { id, method, result } = message as JsonObject
      if (method === 'elicitation/create') void transport.send({ jsonrpc: '2.0', id, result: ACCEPTED } as never)
      else if (id === 2) resolve(result as JsonObject)
    }
  })
  await transport.start()
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'old', version: '1' },
  }
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello } as never)
  await transport.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: CARRIED } as never)
  assert.match(replyOf(await end), /"action":"accept"/)
  await transport.close()
})
