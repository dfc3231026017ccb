import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  badServer,
  bench,
  fixture,
  program,
  script,
  stdioSpec,
  textOf,
  toolCall,
} from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

describe('a legacy server on a pipe', { concurrency: 4 }, () => {
  it('is found to be legacy and keeps its answers as they came', async t => {
    const { upstream, states } = await bench(t, stdioSpec(['stdio'], { command: program('mcp-server-everything') }))

    await upstream.start()

    assert.deepEqual(states, ['starting', 'ready'])
    assert.equal(upstream.server?.era, 'legacy')
    assert.equal(upstream.server?.version, '2025-11-25')
    assert.match(upstream.server?.info.name ?? '', /everything/)
    const answer = await upstream.dispatch(toolCall('echo', { message: 'hé' }))
    assert.equal(textOf(answer), 'Echo: hé')
    assert.equal('result' in answer && answer.result.era, 'legacy')
  })

  it('is respawned in its own language when it exits on the probe', async t => {
    const { upstream, stderr } = await bench(t, badServer('dies-on-unknown'))

    await upstream.start()

    assert.equal(upstream.state, 'ready')
    assert.equal(upstream.server?.era, 'legacy')
    assert.deepEqual(stderr(), ['unexpected request server/discover'])
  })

  it('is told when its client cancels, and the caller has its answer at once', async t => {
    const { upstream, stderr } = await bench(t, stdioSpec([script('asking-server.mjs')]))
    await upstream.start()
    const call = toolCall('hang')
    const answer = upstream.dispatch(call)
    await until(() => stderr().length > 0, 'the call is under way')

    call.cancel('enough')

    assert.match(JSON.stringify(await answer), /was cancelled/)
    await until(() => stderr().length > 1, 'the server hears of it')
    const id = stderr()[0]?.split(' ')[1]
    assert.equal(stderr()[1], `{"requestId":${id},"reason":"enough"}`)
  })

  it('is asked for nothing when the call was cancelled while it started', async t => {
    const { upstream } = await bench(t, badServer('slow-start', '--delay', '300'))
    const call = toolCall('echo', {})
    const answer = upstream.dispatch(call)

    call.cancel('gone')

    assert.match(JSON.stringify(await answer), /was cancelled/)
  })

  it('cannot be had in the modern era', async t => {
    const { upstream } = await bench(t, stdioSpec([fixture('servers/sdk-v1-server.ts')], { era: 'modern' }))

    await upstream.start()

    assert.equal(upstream.state, 'failed')
    assert.match(upstream.problem ?? '', /does not support protocol version 2026-07-28/)
  })
})

describe('what a server asks of its client', { concurrency: 4 }, () => {
  const asking = script('asking-server.mjs')

  it('is answered by us where it is a ping, and refused where nobody knows it', async t => {
    const { upstream } = await bench(t, stdioSpec([asking]))

    assert.equal(textOf(await upstream.dispatch(toolCall('ping'))), '{}')
    assert.match(textOf(await upstream.dispatch(toolCall('nonsense'))), /-32601/)
  })

  it('and its log goes to the only call in flight, and to nobody when there are two', async t => {
    const { upstream, notified } = await bench(t, stdioSpec([asking]))
    const one = toolCall('log')
    await upstream.dispatch(one)
    const two = [toolCall('log'), toolCall('log')]
    await Promise.all(two.map(call => upstream.dispatch(call)))

    assert.deepEqual(
      one.emitted.map(said => said.method),
      ['notifications/message'],
    )
    assert.equal(two.flatMap(call => call.emitted).length, 1, 'the second call is alone when the first has its answer')
    assert.deepEqual(notified, [])
  })
})
