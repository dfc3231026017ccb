import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LogLine } from '../../../src/api/index.ts'
import { GarbageBudget } from '../../../src/net/unexpected-messages.ts'
import { createVariableRedactor } from '../../../src/util/secrets.ts'
import { RecentLines } from '../../../src/processes/stderr.ts'
import { badServer, bench, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
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

  it('is there when the server is not any more', async t => {
    const { upstream } = await bench(t, badServer('fails-to-start'))

    await upstream.start()

    assert.match(upstream.logs?.recent()[0]?.text ?? '', /API_KEY is not set/)
  })

  it('never shows a secret of its configuration, in any form that is usual', async t => {
    const secret = 'p@ss/word "1"+x=='
    const env = { API_TOKEN: secret, MODE: 'production' }
    const { upstream, logs } = await bench(t, stdioSpec([script('probing-server.mjs')], { env }))
    const forms = [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('hex'),
      JSON.stringify({ secret }),
    ]

    for (const text of [...forms, 'mode production']) await upstream.dispatch(toolCall('shout', { text }))
    await upstream.dispatch(toolCall('mutter', { text: `key is ${secret}`, times: 1 }))
    await until(() => upstream.logs?.recent().length === 6, 'all is kept')

    const everything = JSON.stringify([upstream.logs?.recent(), logs])
    for (const form of forms.slice(0, 4)) assert.ok(!everything.includes(form), form)
    assert.ok(!everything.includes(JSON.stringify(secret).slice(1, -1)))
    assert.ok(everything.includes('mode production'))
    const own = JSON.parse(textOf(await upstream.dispatch(toolCall('environment')))) as typeof env
    assert.equal(own.API_TOKEN, secret)
  })
})

describe('the last lines', () => {
  it('are bounded by 64 KiB, and the oldest go first', () => {
    const lines = new RecentLines()
    for (let i = 0; i < 10_000; i++) lines.add({ at: i, stream: 'stderr', text: 'x'.repeat(100) })

    const kept = lines.recent()

    assert.ok(kept.length * 100 <= 64 * 1024 && kept.length > 300, String(kept.length))
    assert.equal(kept.at(-1)?.at, 9999)
    assert.equal(kept[0]?.at, 10_000 - kept.length)
  })

  it('go on for others when somebody who follows them fails', () => {
    const lines = new RecentLines()
    const heard: string[] = []
    lines.follow(() => {
      throw new Error('closed')
    })
    lines.follow(({ text }) => heard.push(text))

    lines.add({ at: 0, stream: 'stderr', text: 'a' })
    lines.add({ at: 0, stream: 'stderr', text: 'b' })

    assert.deepEqual(heard, ['a', 'b'])
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

  it('is over ten seconds later', () => {
    const time = { now: 0 }
    const budget = new GarbageBudget({ now: () => time.now, after: () => () => undefined })

    assert.equal(budget.recordGarbage(1024 * 1024), false)
    assert.equal(budget.recordGarbage(1), true)
    assert.equal(budget.recordGarbage(1), false)
    assert.match(budget.degraded ?? '', /3 lines/)
    time.now = 10_000
    assert.equal(budget.degraded, undefined)
    assert.equal(budget.recordGarbage(1), false)
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
