import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { event, legacy, modern, peer, result, said, stream, type Heard, type Peer } from '../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const OFFERS = {
  tools: { listChanged: true },
  prompts: {},
  resources: { listChanged: true, subscribe: true },
}

describe('a subscription to a modern server', { concurrency: 4 }, () => {
  it('is opened anew with every URI somebody watches, and the old one ended after the new one stands', async t => {
    const { server, streams } = await listening(t, OFFERS)
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    await until(() => streams.length === 1, 'we listen')

    const watch = (method: string, uri: string): Promise<unknown> =>
      upstream.dispatch(callOf(`resources/${method}`, { uri }))
    await Promise.all([watch('subscribe', 'a:1'), watch('subscribe', 'a:2')])
    await watch('subscribe', 'a:1')
    await watch('unsubscribe', 'a:1')
    assert.deepEqual(streams.at(-1)?.wanted.resourceSubscriptions, ['a:1', 'a:2'])
    await watch('unsubscribe', 'a:1')

    assert.deepEqual(streams.at(-1)?.wanted.resourceSubscriptions, ['a:2'])
    assert.equal(streams.length, 3)
    await until(() => streams.filter(one => one.isOpen).length === 1, 'only the last is open')
    assert.equal(server.of('resources/subscribe').length, 0)
  })
})

describe('the stream of a legacy server', { concurrency: 4 }, () => {
  it('brings what belongs to no request, and is opened again when it ends', async t => {
    const gets: ServerResponse[] = []
    const handle = legacy((heard, response) => result(response, heard, said('ok')))
    const server = await peer(t, (heard, response) => {
      if (heard.verb === 'GET') gets.push(stream(response))
      else handle(heard, response)
    })
    const { upstream, notified, asked } = await bench(t, httpSpec(server.url))
    await upstream.start()
    await until(() => gets.length === 1, 'it is open')

    gets[0]?.write(event({ method: 'notifications/tools/list_changed' }, '41'))
    gets[0]?.write(event({ id: 5, method: 'roots/list' }))
    gets[0]?.write(event({ id: 6, method: 'ping' }))
    await until(
      () => server.heard.filter(one => one.message.id === 5 || one.message.id === 6).length === 2,
      'both are answered',
    )
    gets[0]?.end()

    assert.deepEqual(
      notified.map(one => one.method),
      ['notifications/tools/list_changed'],
    )
    assert.deepEqual(asked, [])
    assert.match(String(server.heard.find(one => one.message.id === 5)?.message.error?.message), /ambiguous client/)
    assert.deepEqual(upstream.dropped, { ask: 1 })
    assert.deepEqual(server.heard.find(one => one.message.id === 6)?.message.result, {})
    await until(() => gets.length === 2, 'it is open again')
    assert.equal(server.heard.filter(one => one.verb === 'GET')[1]?.headers['last-event-id'], '41')
  })

  it('of a request brings its questions, and the replies go back', async t => {
    const open: { heard: Heard; response: ServerResponse }[] = []
    const server = await peer(
      t,
      legacy((heard, response) => {
        if (heard.message.method === 'tools/call') {
          open.push({ heard, response: stream(response) })
          response.write(event({ id: 'q', method: 'sampling/createMessage', params: { maxTokens: 1 } }))
        } else {
          response.writeHead(202).end()
          open[0]?.response.end(
            event({ id: open[0].heard.message.id ?? 0, result: said(JSON.stringify(heard.message.result)) }),
          )
        }
      }),
    )
    const it = await bench(t, httpSpec(server.url))
    it.reply = async () => ({ result: { role: 'assistant' } })
    const call = toolCall('a')

    assert.equal(textOf(await it.upstream.dispatch(call)), '{"role":"assistant"}')
    assert.equal(it.asked[0]?.exchange, call.exchange)
  })
})

interface Listen {
  readonly wanted: JsonObject
  isOpen: boolean
}

/** A modern server that acknowledges every listen in full. */
async function listening(
  t: Parameters<typeof peer>[0],
  capabilities: JsonObject,
): Promise<{ server: Peer; streams: Listen[] }> {
  const streams: Listen[] = []
  const server = await peer(
    t,
    modern((heard, response) => {
      if (heard.message.method !== 'subscriptions/listen') return result(response, heard, said('ok'))
      const wanted = heard.message.params?.notifications as JsonObject
      const listen: Listen = { wanted, isOpen: true }
      streams.push(listen)
      response.on('close', () => (listen.isOpen = false))
      const _meta = { 'io.modelcontextprotocol/subscriptionId': heard.message.id }
      const params = { notifications: wanted, _meta }
      stream(response).write(event({ method: 'notifications/subscriptions/acknowledged', params }))
    }, capabilities),
  )
  return { server, streams }
}
