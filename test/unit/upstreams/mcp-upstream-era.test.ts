import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { legacy, modern, peer, refusal, result, type Heard } from '../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, script, stdioSpec } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

type Handle = (heard: Heard, response: ServerResponse) => void

describe('an era that proves wrong', { concurrency: 4 }, () => {
  const answered: Handle = (heard, response) => result(response, heard, { tools: [] })
  const [young, old] = [modern(answered), legacy(answered)]
  for (const [from, to, before, after, isOfBefore, code, message] of [
    [
      ...(['modern', 'legacy', young, old] as const),
      ({ headers, message }: Heard) => headers['mcp-session-id'] === undefined && message.method === 'tools/list',
      ...([-32000, 'Bad Request: Server not initialized'] as const),
    ],
    [
      ...(['legacy', 'modern', old, young] as const),
      ({ headers }: Heard) => headers['mcp-method'] === undefined,
      ...([-32020, 'Header mismatch'] as const),
    ],
  ] as const)
    it(`is found out anew when a ${from} server has become a ${to} one`, async t => {
      let handle: Handle = before
      const server = await peer(t, (heard, response) => handle(heard, response))
      const { upstream } = await bench(t, httpSpec(server.url))
      await upstream.start()
      assert.equal(upstream.server?.era, from)
      handle = (heard, response) => {
        if (isOfBefore(heard)) refusal(response, 400, heard, code, message)
        else after(heard, response)
      }

      assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))

      assert.equal(upstream.server?.era, to)
    })

  it('is left alone when a server only lacks a method', async t => {
    const server = await peer(
      t,
      modern((heard, response) => refusal(response, 404, heard, -32601, 'Method not found')),
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
