import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LogLine } from '../../../src/api/index.ts'
import { createVariableRedactor } from '../../../src/util/secrets.ts'
import { bench, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

describe('what a server writes on its stderr', { concurrency: 4 }, () => {
  it('is kept with its time and process, and heard by who follows it', async t => {
    const { upstream } = await bench(t, stdioSpec([script('probing-server.mjs')]))
    const heard: LogLine[] = []
    await upstream.dispatch(toolCall('shout', { text: 'first' }))
    await until(() => upstream.logs?.recent().length === 1, 'it is kept')
    const leave = upstream.logs?.follow(line => heard.push(line))

    await upstream.dispatch(toolCall('shout', { text: '\u001b[31msecond' }))
    await until(() => heard.length === 1, 'it is heard')
    leave?.()
    await upstream.dispatch(toolCall('shout', { text: 'third' }))
    await until(() => upstream.logs?.recent().length === 3, 'it is kept')

    const [first] = upstream.logs?.recent() ?? []
    assert.equal(first?.text, 'first')
    assert.equal(first?.pid, upstream.pid)
    assert.ok(Math.abs((first?.at ?? 0) - Date.now()) < 10_000)
    assert.deepEqual(
      heard.map(({ text }) => text),
      ['second'],
    )
  })
})

describe('what is no message on a stdout', { concurrency: 4 }, () => {
  it('makes a server degraded above a thousand lines in ten seconds, while its answers still count', async t => {
    const { upstream, logs } = await bench(t, stdioSpec([script('probing-server.mjs')]))
    const text = '\u001b[1m{"level":30,"msg":"not rpc"}'

    assert.equal(textOf(await upstream.dispatch(toolCall('mutter', { text, times: 1000 }))), 'muttered')
    assert.equal(upstream.degraded, undefined)
    assert.equal(textOf(await upstream.dispatch(toolCall('mutter', { text, times: 500 }))), 'muttered')

    assert.match(upstream.degraded ?? '', /^invalid output: \d+ lines/)
    assert.equal(upstream.state, 'ready')
    const said = logs.filter(line => line.message === 'most of its output is invalid')
    assert.equal(said.length, 1)
    assert.ok(String(said[0]?.fields.sample).startsWith('{') && String(said[0]?.fields.sample).length <= 210)
  })
})

describe('hiding secrets', () => {
  it('leaves short values alone unless their names say that they are secret', () => {
    const conceal = createVariableRedactor({
      NODE_ENV: 'test',
      PORT: '8080',
      PIN_KEY: '4711',
      PATHS: '/usr/share/things',
    })

    assert.equal(conceal('test 8080 4711 /usr/share/things'), 'test 8080 *** ***')
  })
})
