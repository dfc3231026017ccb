import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { event, legacy, modern, peer, refusal, result, said, stream } from '../../fixtures/http-peer.ts'
import { bench, httpSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'

describe('a reply', () => {
  it('that does not end fails only its call once it is too large', async t => {
    const server = await peer(
      t,
      modern((heard, response) => {
        if (heard.message.params?.name === 'small') return result(response, heard, said('ok'))
        const isStream = heard.message.params?.name === 'stream'
        if (isStream) stream(response).write('data: ')
        else response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":"2.0","result":{"x":"')
        pour(response)
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url, { maxReply: '256KiB' }))

    const [whole, streamed, small] = await Promise.allSettled(
      ['json', 'stream', 'small'].map(name => upstream.dispatch(toolCall(name))),
    )

    for (const one of [whole, streamed])
      assert.match(String(one?.status === 'rejected' && one.reason), /larger than 262144 bytes/)
    assert.equal(small?.status, 'fulfilled')
    assert.equal(upstream.state, 'ready')
  })

  it('of an unknown result type is an error, and a wish for input is none', async t => {
    const server = await peer(
      t,
      modern((heard, response) => result(response, heard, { resultType: String(heard.message.params?.name) })),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    assert.match(JSON.stringify(await upstream.dispatch(toolCall('task'))), /-32603.*unsupported result type/)
    assert.ok('input' in (await upstream.dispatch(toolCall('input_required'))))
  })

  it('of a legacy server that breaks off is taken up where it ended', async t => {
    const server = await peer(
      t,
      legacy((heard, response) => {
        if (heard.verb === 'GET')
          return void stream(response).end(
            event({ id: first.id, result: said(`after ${String(heard.headers['last-event-id'])}`) }),
          )
        first.id = Number(heard.message.id)
        stream(response).end('id: e1\nretry: 10\ndata: \n\n')
      }),
    )
    const first = { id: 0 }
    const { upstream } = await bench(t, httpSpec(server.url))

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'after e1')
  })

  function pour(response: ServerResponse): void {
    if (response.destroyed) return
    response.write('x'.repeat(16_384))
    setImmediate(() => pour(response))
  }
})

describe('a reply without a result', () => {
  for (const [what, status, code, text] of [
    ['a server error', 503, 'GW_UPSTREAM_DOWN', /HTTP 503$/],
    ['a client error', 418, 'GW_UPSTREAM_PROTOCOL', /HTTP 418$/],
    ['a redirect', 307, 'GW_UPSTREAM_PROTOCOL', /redirect to /],
    ['a refusal of credentials', 401, 'GW_UPSTREAM_AUTH', /HTTP 401/],
    ['nothing', 200, 'GW_UPSTREAM_PROTOCOL', /HTTP 200 without a response message/],
  ] as const) {
    it(`that is ${what} becomes ${code}`, async t => {
      const server = await peer(
        t,
        modern(
          (_heard, response) =>
            void response
              .writeHead(status, { location: 'http://127.0.0.1:1/', 'content-type': 'text/plain' })
              .end(status === 200 ? '' : 'down'),
        ),
      )
      const { upstream } = await bench(t, httpSpec(server.url))

      await assert.rejects(upstream.dispatch(toolCall('a')), { code, message: text })

      assert.equal(upstream.state, 'ready')
    })
  }

  it('with an error status and a JSON-RPC error is that error', async t => {
    const server = await peer(
      t,
      modern((heard, response) => refusal(response, 400, heard, -32021, 'Missing required client capability')),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    const answer = await upstream.dispatch(toolCall('a'))

    assert.equal('error' in answer && answer.error.code, -32021)
  })
})
