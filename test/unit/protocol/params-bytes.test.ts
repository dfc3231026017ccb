import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Payload, type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { script } from '../fixtures/upstream-bench.ts'

const ODD =
  '{ "big":9007199254740993,"id" : 1234567890123456789, "huge":1e400, "zero":-0, "half":1.50,\n "b":1, "2":2, "1":1,' +
  ' "\\u0061":"\\u00e9\\/", "deep":[{"x":0.10000000000000000555}] }'
/** The same values on one line, each number as it came. */
const LINE =
  '{"1":1,"2":2,"big":9007199254740993,"id":1234567890123456789,"huge":1e400,"zero":-0,"half":1.50,"b":1,' +
  '"a":"é/","deep":[{"x":0.10000000000000000555}]}'

describe('on the way to a server', () => {
  test('arguments arrive with their numbers as they were sent, over REST and over MCP', async t => {
    const { call, rest } = await gateway(t)
    assert.ok((await call(`{"name":"up__raw","arguments":${ODD}}`)).includes(`"arguments":${LINE}`))
    assert.ok((await rest(`{"name":"up__raw","arguments":${ODD}}`)).includes(`"arguments":${LINE}`))
  })

  test('a result that a plugin changes keeps the numbers that it leaves alone', async t => {
    const change = definePlugin<undefined>({
      name: 'change',
      setup({ hooks }) {
        hooks.response.tap({ methods: ['tools/call'] }, answer => {
          if (!('result' in answer)) return undefined
          const value = answer.result.value()
          const { ids } = value.structuredContent as { ids: number[] }
          const structuredContent = { ids: ids.with(2, 7), word: 'hidden' }
          return { result: Payload.of({ ...value, structuredContent }, answer.result.era) }
        })
      },
    })
    const { raw } = await gateway(t, [change])
    const text = await raw('{"name":"up__raw","arguments":{"numbers":true}}')
    assert.ok(text.includes('"structuredContent":{"ids":[9007199254740993,1e400,7],"word":"hidden"}'), text)
  })

  test('two numbers that are one to JavaScript do not share an answer of the cache', async t => {
    const { call } = await gateway(t, [], { cache: { tools: { 'up__*': { ttl: '1m' } } } })
    const first = await call('{"name":"up__raw","arguments":{"id":9007199254740992}}')
    const second = await call('{"name":"up__raw","arguments":{"id":9007199254740993}}')
    assert.ok(first.includes('9007199254740992') && second.includes('9007199254740993'))
  })

  test('over REST the body has the bounds of a message', async t => {
    const { url } = await gateway(t)
    const post = (body: string): Promise<Response> =>
      fetch(new URL('/tools/call', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    const deep = '['.repeat(100_000)
    for (const body of [
      `{"name":"up__raw","arguments":{"a":${deep}${']'.repeat(100_000)}}}`,
      deep,
      '{"name":"up__raw","arguments":{}},"more":{}',
    ])
      assert.equal((await post(body)).status, 400, body.slice(0, 60))
  })
})

interface Ways {
  readonly url: string
  /** Sends these parameters, and returns the line that the server got. */
  call(params: string): Promise<string>
  /** Sends these parameters, and returns the answer as it came. */
  raw(params: string): Promise<string>
  rest(body: string): Promise<string>
}

async function gateway(t: TestContext, plugins: Plugin<never>[] = [], config: JsonObject = {}): Promise<Ways> {
  const up = { type: 'stdio', command: process.execPath, args: [script('raw-echo-server.mjs')] }
  const { url } = closeAfter(t, await testGateway({ plugins, config: { rest: {}, upstreams: { up }, ...config } }))
  const meta =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = (params: string): Promise<Response> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params.slice(0, -1)},${meta}}}`
    const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'up__raw' }
    return fetch(url, { method: 'POST', headers: { ...headers, ...own }, body })
  }
  return {
    url,
    call: async params => lineOf(await post(params), 'result'),
    raw: async params => (await post(params)).text(),
    async rest(body) {
      return lineOf(
        await fetch(new URL('/tools/call', url), {
          method: 'POST',
          headers: { ...headers, accept: 'application/json' },
          body,
        }),
      )
    },
  }
}

async function lineOf(response: Response, member?: 'result'): Promise<string> {
  const text = await response.text()
  const whole = JSON.parse(text) as JsonObject
  const { content } = (member === undefined ? whole : whole[member]) as { content?: { text: string }[] }
  return Buffer.from(content?.[0]?.text ?? assert.fail(text), 'base64').toString()
}
