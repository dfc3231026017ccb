import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { modern, peer, stream } from '../../fixtures/http-peer.ts'
import { bench, httpSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const BROKEN = ['tru', '01', 'NaN', '"\\x41"', '[1,]', '"\xff"', DEEP]
const FINE = '[{"type":"text","text":"fine"}]'

const WAYS: Record<string, (response: ServerResponse, message: Buffer) => void> = {
  'one JSON text': (response, message) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(message),
  'a stream of events': (response, message) =>
    void stream(response).end(Buffer.concat([Buffer.from('data: '), message, Buffer.from('\n\n')])),
}

describe('a broken reply over HTTP', () => {
  for (const [way, send] of Object.entries(WAYS))
    for (const content of BROKEN)
      it(`as ${way}, with ${content.slice(0, 8)}, fails its own call at once and no other`, async t => {
        const server = await peer(
          t,
          modern((heard, response) => {
            const text = heard.message.params?.name === 'break' ? content : FINE
            const reply = `{"jsonrpc":"2.0","id":${JSON.stringify(heard.message.id)},"result":{"resultType":"complete","content":${text}}}`
            send(response, Buffer.from(reply, 'latin1'))
          }),
        )
        const { upstream } = await bench(t, httpSpec(server.url))
        await upstream.start()

        const [broken, fine] = await Promise.allSettled([
          upstream.dispatch(toolCall('break')),
          upstream.dispatch(toolCall('echo')),
        ])

        assert.ok(broken.status === 'rejected' && fine.status === 'fulfilled')
        assert.equal((broken.reason as { code?: string }).code, 'GW_UPSTREAM_PROTOCOL')
        assert.equal(textOf(fine.value), 'fine')
        assert.equal(upstream.state, 'ready')
      })
})
