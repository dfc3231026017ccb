import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, type TestReply } from '../../../src/testing/index.ts'
import { legacy, modern, peer, result, said } from '../fixtures/http-peer.ts'
import { until } from '../../fixtures/until.ts'

const CALLS = 25
const TIMEOUT_MS = 500
/** Far longer than the deadline of a call: it hangs. */
const HANGS_MS = 10_000
const TOOL = { name: 'echo', inputSchema: { type: 'object' } }

/** Spoils the reply to a call that was carried out. */
type Fault = (response: ServerResponse, reply: string) => void

const head = (length: number): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}`

const FAULTS: Readonly<Record<string, Fault>> = {
  'a reset after the request': response => void response.destroy(),
  'half a response': ({ socket }, reply) =>
    void socket?.end(`${head(reply.length)}\r\n\r\n${reply.slice(0, reply.length >> 1)}`),
  garbage: ({ socket }) => void socket?.end(Buffer.from('\u0000\u00ff\u0001not HTTP\r\n\r\n{"id":1}', 'latin1')),
  'a truncated chunk': (response, reply) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .write(reply.slice(0, 20), () => response.destroy()),
  'a black hole': () => undefined,
  'a response twice': ({ socket }, reply) => void socket?.write(`${head(reply.length)}\r\n\r\n${reply}`.repeat(2)),
}

describe('a network that fails', () => {
  for (const era of ['modern', 'legacy'] as const)
    for (const [name, spoil] of Object.entries(FAULTS))
      it(`with ${name} leaves every call to a ${era} server with one outcome, in time, carried out once at most`, async t => {
        const executed = new Map<unknown, number>()
        let isFaulty = true
        const server = await peer(
          t,
          (era === 'modern' ? modern : legacy)((heard, response) => {
            if (heard.message.method !== 'tools/call') return result(response, heard, { tools: [TOOL] })
            const { n } = heard.message.params?.arguments as JsonObject
            executed.set(n, (executed.get(n) ?? 0) + 1)
            if (!isFaulty) return result(response, heard, said(`n=${String(n)}.`))
            const { id } = heard.message
            spoil(response, JSON.stringify({ jsonrpc: '2.0', id, result: said(`n=${String(n)}.`) }))
          }),
        )
        const web = { type: 'http', url: server.url, era, timeout: TIMEOUT_MS, breaker: false, cache: false }
        const gateway = closeAfter(t, await testGateway({ config: { upstreams: { web } } }))
        const client = closeAfter(t, await testClient(gateway))
        const call = (n: number): Promise<TestReply> =>
          client.request('tools/call', { name: 'web__echo', arguments: { n } })

        const started = performance.now()
        const replies = await Promise.all(Array.from({ length: CALLS }, (_, n) => call(n)))

        assert.ok(performance.now() - started < HANGS_MS)
        for (const [n, { result: own, error }] of replies.entries())
          if (own === undefined) assert.equal(typeof (error?.data as JsonObject).code, 'string', JSON.stringify(error))
          else assert.deepEqual(own.content, said(`n=${n}.`).content)
        assert.ok([...executed.values()].every(times => times === 1))
        isFaulty = false
        let last = CALLS
        await until(async () => (await call(++last)).result !== undefined, 'the server answers again')
      })
})
