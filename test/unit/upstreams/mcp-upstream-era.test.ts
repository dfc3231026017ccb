import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { json, legacy, modern, peer, result, type Heard } from '../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, script, stdioSpec } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

describe('an era that proves wrong', { concurrency: 4 }, () => {
  it('is found out anew when a modern server has become a legacy one', async t => {
    const state: { handle: (heard: Heard, response: ServerResponse) => void } = {
      handle: modern((heard, response) => result(response, heard, { tools: [] })),
    }
    const server = await peer(t, (heard, response) => state.handle(heard, response))
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    assert.equal(upstream.server?.era, 'modern')
    const old = legacy((heard, response) => result(response, heard, { tools: [] }))
    state.handle = (heard, response) => {
      if (heard.headers['mcp-session-id'] === undefined && heard.message.method === 'tools/list')
        json(response, 400, {
          jsonrpc: '2.0',
          id: null,
          error: { code: -32000, message: 'Bad Request: Server not initialized' },
        })
      else old(heard, response)
    }

    assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))

    assert.equal(upstream.server?.era, 'legacy')
  })

  it('is found out anew when a legacy server has become a modern one', async t => {
    const state: { handle: (heard: Heard, response: ServerResponse) => void } = {
      handle: legacy((heard, response) => result(response, heard, { tools: [] })),
    }
    const server = await peer(t, (heard, response) => state.handle(heard, response))
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    const young = modern((heard, response) => result(response, heard, { tools: [] }))
    state.handle = (heard, response) => {
      if (heard.headers['mcp-method'] === undefined)
        json(response, 400, {
          jsonrpc: '2.0',
          id: heard.message.id ?? null,
          error: { code: -32020, message: 'Header mismatch' },
        })
      else young(heard, response)
    }

    assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))

    assert.equal(upstream.server?.era, 'modern')
  })

  it('is left alone when a server only lacks a method', async t => {
    const server = await peer(
      t,
      modern((heard, response) =>
        json(response, 404, {
          jsonrpc: '2.0',
          id: heard.message.id,
          error: { code: -32601, message: 'Method not found' },
        }),
      ),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    for (let round = 0; round < 3; round++) {
      const answer = await upstream.dispatch(callOf('tools/list'))
      assert.equal('error' in answer && answer.error.code, -32601)
    }

    assert.equal(server.of('server/discover').length, 2, 'once to start, once in doubt')
  })

  it('is remembered, so that a restarted server is not probed again', async t => {
    const { upstream, stderr } = await bench(t, stdioSpec([script('says-methods.mjs')]))
    await upstream.start()
    process.kill(upstream.pid ?? assert.fail(), 'SIGKILL')
    await until(() => upstream.state === 'failed', 'it is gone')
    await until(() => upstream.state === 'ready', 'it is back')
    await upstream.stop()

    assert.deepEqual(
      stderr().filter(line => line !== 'notifications/initialized'),
      ['server/discover', 'initialize', 'initialize'],
    )
  })
})
