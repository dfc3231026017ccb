import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GatewayError } from '../../../../src/errors/errors.ts'
import { legacy, modern, peer, refusal, result, said, stream } from '../../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

describe('cancelling a call over HTTP', () => {
  it('ends the stream of a modern server and says no more', async t => {
    let isCut = false
    const server = await peer(
      t,
      modern((_heard, response) => {
        stream(response).write(':\n')
        response.on('close', () => (isCut = true))
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    const call = toolCall('a')
    const answer = upstream.dispatch(call)
    await until(() => server.of('tools/call').length === 1, 'the call is there')

    call.cancel('enough')

    assert.match(JSON.stringify(await answer), /was cancelled/)
    await until(() => isCut, 'its stream ends')
    assert.equal(server.of('notifications/cancelled').length, 0)
  })
})

describe('a server that cannot be had', () => {
  it('because nobody listens fails its calls at once, and is found again', async t => {
    const server = await peer(
      t,
      modern((heard, response) => result(response, heard, said('ok'))),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    await server.close()

    await assert.rejects(upstream.dispatch(toolCall('a')), /CONNREFUSED|SOCKET|CONNRESET/)
    await assert.rejects(upstream.dispatch(toolCall('a')), /unreachable|CONNREFUSED/)
    assert.equal(upstream.state, 'failed')
    await server.listen()

    await until(() => upstream.state === 'ready', 'it is found again')
    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
  })
})

describe('a connection that the server has closed while it was idle', () => {
  it('is an error that says so, and nothing is sent a second time: what may be is for the retries to say', async t => {
    const seen = new Map<string, number>()
    const server = await peer(
      t,
      modern((heard, response) => {
        const method = heard.message.method ?? ''
        seen.set(method, (seen.get(method) ?? 0) + 1)
        if (seen.get(method) === 1) response.destroy()
        else result(response, heard, { tools: [] })
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    const stale = (error: GatewayError): boolean => error.code === 'GW_UPSTREAM_CLOSED' && error.fields.stale === true
    await assert.rejects(upstream.dispatch(callOf('tools/list')), stale)
    await assert.rejects(upstream.dispatch(toolCall('a')), stale)

    assert.deepEqual(
      [...seen],
      [
        ['tools/list', 1],
        ['tools/call', 1],
      ],
    )
  })
})

describe('a session that the server has forgotten', () => {
  it('was refused at the door (HTTP 404), so a tool call is sent once more, in a new one', async t => {
    const sessions = new Set<string>()
    const server = await peer(
      t,
      legacy((heard, response) => result(response, heard, said('ok')), sessions),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.dispatch(toolCall('a'))
    sessions.clear()

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')

    assert.deepEqual(
      server.of('tools/call').map(({ headers }) => headers['mcp-session-id']),
      ['session-1', 'session-1', 'session-2'],
    )
  })

  it('fails a tool call with the reason where that is less certain (HTTP 400), and the next one works', async t => {
    const sessions = new Set<string>()
    const handle = legacy((heard, response) => result(response, heard, said('ok')), sessions)
    const server = await peer(t, (heard, response) => {
      const session = heard.headers['mcp-session-id']
      if (session === undefined || sessions.has(String(session))) handle(heard, response)
      else refusal(response, 400, heard, -32000, 'Bad Request: No valid session ID provided')
    })
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.dispatch(toolCall('a'))
    sessions.clear()

    await assert.rejects(upstream.dispatch(toolCall('a')), {
      code: 'GW_UPSTREAM_CLOSED',
      message: /session expired/,
    })

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
    assert.equal(server.of('tools/call').length, 3)
  })

  it('in the middle of a call leaves that alone: it may have been carried out', async t => {
    const sessions = new Set<string>()
    const handle = legacy((_heard, response) => {
      sessions.clear()
      stream(response).write('id: 1\nretry: 1\ndata: \n\n')
      setTimeout(() => response.destroy(), 20)
    }, sessions)
    const server = await peer(t, handle)
    const { upstream } = await bench(t, httpSpec(server.url))

    await assert.rejects(upstream.dispatch(toolCall('a')), /session expired/)

    assert.equal(server.of('tools/call').length, 1)
    assert.ok(server.heard.some(({ headers }) => headers['last-event-id'] === '1'))
  })
})
