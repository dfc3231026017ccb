import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GatewayError } from '../../../../src/errors/errors.ts'
import { badServer, bench, callOf, script, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

describe('a server that misbehaves on its pipe', { concurrency: 4 }, () => {
  for (const mode of ['duplicate-ids', 'unknown-ids']) {
    it(`with ${mode} still answers every call once, and correctly`, async t => {
      const { upstream } = await bench(t, badServer(mode))

      const answers = await Promise.all(
        ['a', 'ü', 'c'].map(message => upstream.dispatch(toolCall('echo', { message }))),
      )

      for (const [index, message] of ['a', 'ü', 'c'].entries()) {
        const text = textOf(answers[index] ?? assert.fail())
        assert.ok(text.includes(message), text)
        assert.doesNotMatch(text, /forged|again/)
      }
    })
  }

  it('has its garbage logged once, escaped and short', async t => {
    const { upstream, logs } = await bench(t, badServer('garbage'))

    await upstream.dispatch(toolCall('echo', { message: 'a' }))

    const warnings = logs.filter(line => line.level === 'warn' && 'sample' in line.fields)
    assert.equal(warnings[0]?.fields.sample, 'Server is running!')
    assert.ok(warnings.length <= 2)
  })

  it('cannot report progress of calls that are not its own', async t => {
    const { upstream } = await bench(t, badServer('spoofed-progress'))
    const asked = toolCall('echo', { message: 'a' }, { progressToken: 7 })
    const silent = toolCall('echo', { message: 'b' })

    await upstream.dispatch(silent)
    await upstream.dispatch(asked)

    assert.deepEqual(
      asked.emitted.map(said => said.params),
      [{ progressToken: 7, progress: 1, message: 'honest' }],
    )
    assert.deepEqual(silent.emitted, [])
  })

  for (const end of ['id-last', 'id-first'])
    it(`loses the one call whose answer is a line too long, and lives on: ${end}`, async t => {
      const spec = { ...badServer('huge-line', '--bytes', '200000', '--only', 'huge', '--end', end) }
      const { upstream, states } = await bench(t, { ...spec, maxLine: '64KiB' })
      await upstream.start()
      const { pid } = upstream

      const calls = await Promise.allSettled(
        ['a', 'huge', 'b'].map(message => upstream.dispatch(toolCall('echo', { message }))),
      )

      assert.equal(calls.map(({ status }) => status).join(), 'fulfilled,rejected,fulfilled')
      const [, lost] = calls
      assert.ok(lost?.status === 'rejected' && lost.reason instanceof GatewayError)
      assert.equal(lost.reason.code, 'GW_TOO_LARGE')
      assert.match(lost.reason.message, /maxLine/)
      assert.equal(upstream.pid, pid)
      assert.ok(!states.includes('failed'))
      assert.deepEqual(upstream.dropped, { oversize: 1 })
    })

  it('may write a line of exactly the limit', async t => {
    const { upstream } = await bench(t, { ...badServer('huge-line', '--bytes', '65536'), maxLine: '64KiB' })

    assert.ok('result' in (await upstream.dispatch(toolCall('echo', {}))))
  })

  it('fails its calls at once when it dies, with its exit code, and comes back by itself', async t => {
    const { upstream, states } = await bench(t, badServer('dies-in-call'))
    await upstream.start()

    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => upstream.dispatch(toolCall('echo', {}))))

    for (const call of calls) {
      assert.ok(call.status === 'rejected' && call.reason instanceof GatewayError)
      assert.equal(call.reason.code, 'GW_UPSTREAM_CLOSED')
      assert.match(call.reason.message, /exited with code 3/)
    }
    assert.equal(upstream.state, 'failed')
    await assert.rejects(upstream.dispatch(callOf('tools/list')), {
      code: 'GW_UPSTREAM_DOWN',
      message: /exited with code 3/,
    })
    await until(() => upstream.state === 'ready', 'it comes back')
    assert.deepEqual(states, ['starting', 'ready', 'failed', 'starting', 'ready'])
    assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))
  })

  it('that fails to start says why, with what it wrote to stderr', async t => {
    const { upstream } = await bench(t, badServer('fails-to-start'))

    await assert.rejects(upstream.dispatch(callOf('tools/list')), {
      code: 'GW_UPSTREAM_START',
      message: /exited with code 1$/,
      detail: /Error: API_KEY is not set/,
    })

    assert.equal(upstream.state, 'failed')
  })

  it('that never answers has only its start-up time', async t => {
    const { upstream } = await bench(t, { ...badServer('silent'), startupTimeout: '600ms' })

    await upstream.start()

    assert.equal(upstream.state, 'failed')
    assert.match(upstream.problem ?? '', /no handshake within 600 ms/)
  })

  it('that is slow to start is not asked twice who it is', async t => {
    const { upstream } = await bench(t, {
      ...badServer('slow-start', '--delay', '2200'),
      startupTimeout: '6s',
    })

    await upstream.start()

    assert.equal(upstream.state, 'ready')
    assert.equal(upstream.server?.era, 'legacy')
  })

  it('that does not exist is named', async t => {
    const { upstream } = await bench(t, stdioSpec([], { command: 'no-such-server' }))

    await upstream.start()

    assert.match(upstream.problem ?? '', /command not found: no-such-server/)
  })

  it('that does not read is not buffered for without end', async t => {
    const { upstream } = await bench(t, stdioSpec([script('deaf-server.mjs')]))
    await upstream.start()
    const big = 'x'.repeat(1_500_000)

    let refused = 0
    const calls = Array.from({ length: 12 }, () => upstream.dispatch(toolCall('echo', { big })))
    for (const call of calls) void call.catch(() => refused++)
    await until(() => refused >= 6, 'most are refused')
    await upstream.stop()

    const settled = await Promise.allSettled(calls)
    const codes = settled.map(call => call.status === 'rejected' && (call.reason as GatewayError).code)
    assert.ok(codes.filter(code => code === 'GW_UPSTREAM_BUSY').length >= 6, codes.join('\n'))
    assert.ok(!codes.includes(false))
  })
})
