import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { event, type Heard, json, legacy, modern, peer, refusal, result, said } from '../../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

type Odd = (heard: Heard, response: ServerResponse) => void

const PROBE_ANSWERS: Record<string, Odd> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 405, 406, 409, 410, 415, 422, 429, 500, 501, 502, 503, 504].map(status => [
      `HTTP ${status}`,
      (_heard: Heard, response: ServerResponse) => json(response, status, { error: 'no' }),
    ]),
  ),
  reset: (_heard, response) => void response.destroy(),
  'an empty body': (_heard, response) => void response.writeHead(200).end(),
  '202 without a body': (_heard, response) => void response.writeHead(202).end(),
  'an empty event stream': (_heard, response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
  'a silent event stream': (_heard, response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
  'a result without versions': (heard, response) => result(response, heard, {}),
  'no answer': () => undefined,
}

describe('a server of the legacy era is found, whatever it says to the probe', () => {
  for (const [what, odd] of Object.entries(PROBE_ANSWERS)) {
    it(what, async t => {
      const fine = legacy((heard, response) => result(response, heard, said('ok')))
      const server = await peer(t, (heard, response) =>
        (heard.message.method === 'server/discover' ? odd : fine)(heard, response),
      )
      const { upstream } = await bench(t, httpSpec(server.url, { startupTimeout: '3s' }))

      assert.equal(textOf(await upstream.dispatch(callOf('tools/list'))), 'ok')
      assert.equal(server.of('initialize').length, 1)
    })
  }
})

describe('a session that the server has forgotten is made again', () => {
  const texts = ['Session not found', 'Invalid session ID', 'Bad Request: No valid session ID provided']
  const bodies: JsonObject[] = texts.map(message => ({ code: -32001, message }))
  bodies.push({ code: -32600, message: 'Session session-1 has expired' })
  for (const status of [200, 400, 401, 403, 404, 409, 410, 500, 503])
    for (const error of bodies)
      it(`HTTP ${status}: ${JSON.stringify(error)}`, async t => {
        const sessions = new Set<string>()
        const fine = legacy((heard, response) => result(response, heard, { tools: [] }), sessions)
        const server = await peer(t, (heard, response) => {
          const session = heard.headers['mcp-session-id']
          if (session === undefined || sessions.has(String(session))) fine(heard, response)
          else json(response, status, { jsonrpc: '2.0', id: heard.message.id ?? null, error })
        })
        const { upstream } = await bench(t, httpSpec(server.url))
        await upstream.dispatch(callOf('tools/list'))
        sessions.clear()

        assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))
        assert.equal(server.of('initialize').length, 2)
      })

  const OF_TOOLS: [status: number, code: number, message: string][] = [
    [200, -32602, 'Session not found'],
    [200, -32600, 'Session "work" not found'],
    [200, -32001, 'The database says: session expired'],
    [200, -32600, 'session login-7 has expired'],
    [400, -32600, 'Invalid browser session'],
    [400, -32001, 'No valid session of the user'],
  ]
  for (const [status, code, message] of OF_TOOLS)
    it(`not by a tool that fails with HTTP ${status}, ${code} ${message}`, async t => {
      const server = await peer(
        t,
        legacy((heard, response) => refusal(response, status, heard, code, message)),
      )
      const { upstream } = await bench(t, httpSpec(server.url))

      await upstream.dispatch(toolCall('a'))
      const before = server.of('initialize').length
      for (let n = 0; n < 3; n++) assert.ok('error' in (await upstream.dispatch(toolCall('a'))))
      assert.equal(server.of('initialize').length, before)
    })

  for (const status of [401, 403, 409, 500, 502, 503])
    it(`after a pause, if HTTP ${status} goes on without a known word`, async t => {
      const clock = new HandClock()
      const sessions = new Set<string>()
      const fine = legacy((heard, response) => result(response, heard, said('ok')), sessions)
      const server = await peer(t, (heard, response) => {
        const session = heard.headers['mcp-session-id']
        if (session === undefined || sessions.has(String(session))) fine(heard, response)
        else json(response, status, { error: 'no' })
      })
      const { upstream } = await bench(t, httpSpec(server.url), { clock })
      await upstream.dispatch(callOf('tools/list'))
      sessions.clear()

      await assert.rejects(upstream.dispatch(callOf('tools/list')))
      clock.pass(1000)

      assert.equal(textOf(await upstream.dispatch(callOf('tools/list'))), 'ok')
      assert.equal(server.of('initialize').length, 2)
    })

  it('not if a ping shows that it lives on', async t => {
    const clock = new HandClock()
    const server = await peer(
      t,
      legacy((heard, response) =>
        heard.message.method === 'ping' ? result(response, heard, {}) : json(response, 500, {}),
      ),
    )
    const { upstream } = await bench(t, httpSpec(server.url), { clock })

    await assert.rejects(upstream.dispatch(toolCall('a')))
    const before = server.of('initialize').length
    for (let n = 0; n < 4; n++) {
      clock.pass(1000)
      await assert.rejects(upstream.dispatch(toolCall('a')))
    }
    assert.equal(server.of('initialize').length, before)
    assert.ok(server.of('ping').length > 0)
  })
})

describe('redirects', () => {
  for (const status of [307, 308])
    it(`HTTP ${status} within the origin are followed, with the body`, async t => {
      const fine = modern((heard, response) => result(response, heard, said('ok')))
      const server = await peer(t, (heard, response) => {
        if (heard.path === '/there') fine(heard, response)
        else response.writeHead(status, { location: '/there' }).end()
      })
      const { upstream } = await bench(t, httpSpec(server.url))

      assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
    })

  it('elsewhere are named, without their parameters, and loops end', async t => {
    const server = await peer(
      t,
      (_heard, response) => void response.writeHead(307, { location: 'https://other.example/mcp?key=secret' }).end(),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    assert.match(upstream.problem ?? '', /https:\/\/other\.example\/mcp/)
    assert.doesNotMatch(upstream.problem ?? '', /secret/)

    const loop = await peer(t, (_heard, response) => void response.writeHead(308, { location: '/mcp' }).end())
    const { upstream: looping } = await bench(t, httpSpec(loop.url))
    await looping.start()
    assert.equal(looping.state, 'failed')
  })
})

describe('bodies that a server compressed unasked', () => {
  const encoders = { br: brotliCompressSync, gzip: gzipSync, deflate: deflateSync }
  for (const [name, encode] of Object.entries(encoders))
    for (const kind of ['json', 'events'])
      it(`${name} of ${kind} are decoded, and their decoded size is bounded`, async t => {
        let size = 2
        const server = await peer(
          t,
          modern((heard, response) => {
            assert.equal(heard.headers['accept-encoding'], 'identity')
            const message = { id: heard.message.id, result: said('x'.repeat(size)) } as JsonObject
            const text = kind === 'json' ? JSON.stringify({ jsonrpc: '2.0', ...message }) : event(message)
            const type = kind === 'json' ? 'application/json' : 'text/event-stream'
            response.writeHead(200, { 'content-type': type, 'content-encoding': name }).end(encode(text))
          }),
        )
        const { upstream } = await bench(t, httpSpec(server.url, { maxReply: '64KiB' }))

        assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'xx')
        size = 1_000_000
        await assert.rejects(upstream.dispatch(toolCall('a')), { code: 'GW_TOO_LARGE' })
      })

  it('that are broken fail their call', async t => {
    const server = await peer(
      t,
      modern((_heard, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no')),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    await assert.rejects(upstream.dispatch(toolCall('a')), { code: 'GW_UPSTREAM_CLOSED' })
  })
})

describe('after a long outage', () => {
  it('a remote server is back within two seconds of the first call that needs it', async t => {
    const clock = new HandClock()
    let isDown = true
    const fine = modern((heard, response) => result(response, heard, said('ok')))
    const server = await peer(t, (heard, response) => (isDown ? json(response, 503, {}) : fine(heard, response)))
    const { upstream } = await bench(t, httpSpec(server.url, { era: 'modern' }), { clock })
    await upstream.start()
    for (let n = 0; n < 12; n++) {
      clock.pass(30_000)
      await upstream.dispatch(toolCall('a')).catch(() => undefined)
    }
    isDown = false

    await upstream.dispatch(toolCall('a')).catch(() => undefined)
    clock.pass(1000)

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
  })
})
