import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../../src/protocol/json/json.ts'
import { answerTo, wsServer, type Said } from './network-upstream.ts'
import { modern, peer, stream, type Heard } from '../../fixtures/http-peer.ts'
import {
  bench,
  httpSpec,
  script,
  stdioSpec,
  textOf,
  toolCall,
  wsSpec,
  type Bench,
} from '../../fixtures/upstream-bench.ts'
import { BAD, withBytes } from '../../security/bad-utf8.ts'

/** Replies with the bytes in a text, in a member's name, and in what is beside the result. */
const REPLIES = [
  '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"?"}]}}',
  '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"?":1}}',
  '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"note":"?"}',
]

function reply(index: number, id: string): Buffer {
  const text = (REPLIES[index % REPLIES.length] as string).replace('ID', id)
  return withBytes(text, BAD[index] as number[])
}

/** Calls the tool that answers badly once for each sequence; says what came of it. */
async function eachBad({ upstream }: Bench, argumentsFor: (index: number) => JsonObject): Promise<Set<string>> {
  const outcomes = new Set<string>()
  for (let index = 0; index < BAD.length; index++)
    await upstream.dispatch(toolCall('break', argumentsFor(index))).then(
      () => outcomes.add('answered'),
      (error: unknown) => outcomes.add(String((error as { code?: string }).code)),
    )
  return outcomes
}

const REFUSED = new Set(['GW_UPSTREAM_PROTOCOL'])

describe('a reply that is not UTF-8', () => {
  it('on a pipe fails its own call, is skipped and counted, and the server lives', async t => {
    const it = await bench(t, stdioSpec([script('broken-server.mjs')]))
    await it.upstream.start()

    const outcomes = await eachBad(it, index => ({ line: reply(index, 'ID').toString('base64') }))

    assert.deepEqual(outcomes, REFUSED)
    assert.equal(it.upstream.dropped?.garbage, BAD.length)
    assert.equal(textOf(await it.upstream.dispatch(toolCall('echo', {}))), 'fine')
    assert.equal(it.upstream.runtime?.restarts ?? 0, 0)
  })

  for (const way of ['one JSON text', 'a stream of events'])
    it(`over HTTP, as ${way}, fails its own call, and the session lives`, async t => {
      const server = await peer(
        t,
        modern((heard: Heard, response) => {
          const { name, arguments: args } = heard.message.params as { name: string; arguments: { n: number } }
          const id = JSON.stringify(heard.message.id)
          const bytes =
            name === 'break'
              ? reply(args.n, id)
              : Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"fine"}]}}`)
          if (way === 'one JSON text') response.writeHead(200, { 'content-type': 'application/json' }).end(bytes)
          else stream(response).end(Buffer.concat([Buffer.from('data: '), bytes, Buffer.from('\n\n')]))
        }),
      )
      const it = await bench(t, httpSpec(server.url))
      await it.upstream.start()

      assert.deepEqual(await eachBad(it, n => ({ n })), REFUSED)
      assert.equal(textOf(await it.upstream.dispatch(toolCall('echo', {}))), 'fine')
      assert.equal(it.upstream.state, 'ready')
    })

  it('on a WebSocket ends that connection with 1007, and its calls have an error', async t => {
    const codes: number[] = []
    const server = await wsServer(t, (said: Said) => {
      if (said.params?.name !== 'break') return answerTo(said)
      const { n } = said.params.arguments as { n: number }
      const socket = server.sockets.at(-1)
      socket?.once('close', code => codes.push(code))
      socket?.send(reply(n, JSON.stringify(said.id)), { binary: false })
      return undefined
    })
    for (let n = 0; n < BAD.length; n++) {
      const { upstream } = await bench(t, wsSpec(server.url))
      await upstream.start()
      await assert.rejects(upstream.dispatch(toolCall('break', { n })), /WebSocket/)
      await upstream.stop()
    }
    assert.deepEqual(new Set(codes), new Set([1007]))
    assert.equal(codes.length, BAD.length)
  })
})
