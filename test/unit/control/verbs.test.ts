import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogLine } from '../../../src/api/index.ts'
import type { Plugin, Upstream } from '../../../src/plugin.ts'
import { getLiveUpstream } from '../../../src/core/reused-upstream.ts'
import { createGateway } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

/** Upstreams that keep a log which the test writes. */
function logging(): {
  plugin: Plugin<never>
  write(name: string, text: string): void
  hearers: () => number
} {
  const feeds = new Map<string, { lines: LogLine[]; hearers: Set<(line: LogLine) => void> }>()
  const feedOf = (name: string) => {
    const feed = feeds.get(name) ?? { lines: [], hearers: new Set() }
    feeds.set(name, feed)
    return feed
  }
  const plugin: Plugin<never> = {
    name: 'logging',
    setup({ hooks }) {
      hooks.dispatch.tap((next, upstream: Upstream) => {
        const { lines, hearers } = feedOf(upstream.name)
        const follow = (hear: (line: LogLine) => void): (() => void) => {
          hearers.add(hear)
          return () => void hearers.delete(hear)
        }
        Object.assign(getLiveUpstream(upstream), { logs: { recent: () => lines, follow } })
        return next
      })
      hooks.control.for('logging.count').tap(({ upstream }) => ({ count: feedOf(String(upstream)).lines.length }))
      hooks.status.tap(status => ({ ...status, queue: { waiting: 3 } }))
    },
  }
  return {
    plugin,
    write(name, text) {
      const line = { at: 0, stream: 'stderr', text } as const
      const { lines, hearers } = feedOf(name)
      lines.push(line)
      for (const hear of hearers) hear(line)
    },
    hearers: () => [...feeds.values()].reduce((sum, { hearers }) => sum + hearers.size, 0),
  }
}

test('ps says how the gateway and each upstream does, with what plugins add', async t => {
  const { plugin } = logging()
  const web = closeAfter(t, await testUpstream({}))
  const { gateway, url } = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin] }))

  const ps = await gateway.control('ps')

  const own = ps['gateway'] as JsonObject
  assert.deepEqual([own['name'], own['pid']], ['tapgate', process.pid])
  assert.ok(Number(own['startedAt']) <= Date.now() && Number(own['rss']) > 0)
  assert.deepEqual(ps['listeners'], [{ name: 'main', type: 'http', url }])
  const [row] = ps['upstreams'] as JsonObject[]
  assert.deepEqual([row?.['name'], row?.['state'], row?.['queue']], ['web', 'ready', { waiting: 3 }])
})

test(
  'the memory of a local server counts the processes it started',
  { skip: process.platform !== 'linux' },
  async t => {
    const script = `
      const child = require('child_process').spawn(process.execPath, ['-e', 'process.send(1); setInterval(() => {}, 1e6)'],
        { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
      const hello = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
      const answer = ({ id, method }) => id !== undefined && console.log(JSON.stringify({ jsonrpc: '2.0', id,
        ...(method === 'initialize' ? { result: hello } : { error: { code: -32601, message: 'no' } }) }))
      child.once('message', () => require('readline').createInterface({ input: process.stdin })
        .on('line', line => answer(JSON.parse(line))).on('close', () => process.exit()))`
    const gateway = await createGateway({
      upstreams: { local: { type: 'stdio', command: process.execPath, args: ['-e', script] } },
    })
    cleanup(t, () => gateway.close())
    await gateway.start()
    await gateway.settled()

    const { upstreams } = await gateway.control('ps')
    const [row] = upstreams as { pid: number; rss: number }[]
    const { readFile } = await import('node:fs/promises')
    const own = Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${row?.pid}/status`, 'utf8'))?.[1]) * 1024

    assert.ok(Number(row?.rss) > own * 1.5, `${row?.rss} of ${own}`)
  },
)

test('unknown verbs, upstreams and parameters are refused with what there is', async t => {
  const { plugin } = logging()
  const web = closeAfter(t, await testUpstream({}))
  const { gateway } = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin] }))

  await assert.rejects(gateway.control('sing'), {
    code: 'GW_VERB_UNKNOWN',
    message: /known: ps, .*logging\.count$/,
  })
  await assert.rejects(gateway.control('upstream.stop', { upstream: 'wbe' }), {
    code: 'GW_UPSTREAM_UNKNOWN',
    message: /did you mean "web"\?/,
  })
  await assert.rejects(gateway.control('upstream.stop'), { code: 'GW_VERB_PARAMS' })
  await assert.rejects(gateway.control('upstream.logs', { upstream: 'web', lines: -1 }), {
    code: 'GW_VERB_PARAMS',
  })
  await assert.rejects(gateway.control('__proto__'), { code: 'GW_VERB_UNKNOWN' })
})

test('logs are the last lines, and with follow those to come, through a reload, until nobody wants them', async t => {
  const { plugin, write, hearers } = logging()
  const web = closeAfter(t, await testUpstream({}))
  const config = (timeout: string): JsonObject => ({
    shutdown: { grace: 100 },
    upstreams: { web: { type: 'http', url: web.url, timeout }, other: { type: 'http', url: web.url } },
  })
  const gateway = await createGateway(config('5s'), { plugins: [plugin] })
  cleanup(t, () => gateway.close())
  await gateway.start()
  for (const text of ['one', 'two', 'three']) write('web', text)
  const stop = new AbortController()
  const heard: unknown[] = []

  const { lines } = await gateway.control('upstream.logs', { upstream: 'web', lines: 2 })
  const following = gateway.control(
    'upstream.logs',
    { upstream: 'web', lines: 1, follow: true },
    { signal: stop.signal, onNotification: ({ params }) => heard.push((params?.['line'] as LogLine).text) },
  )
  await gateway.control('ps')
  write('web', 'four')
  write('other', 'not this')
  await gateway.reload(config('6s'))
  write('web', 'five')
  stop.abort()
  await following
  write('web', 'six')

  assert.deepEqual(
    (lines as LogLine[]).map(({ text }) => text),
    ['two', 'three'],
  )
  assert.deepEqual(heard, ['three', 'four', 'five'])
  assert.equal(hearers(), 0)
})

test('a follow ends when its upstream is taken out, and when the gateway ends', async t => {
  const { plugin } = logging()
  const web = closeAfter(t, await testUpstream({}))
  const upstreams = { a: { type: 'http', url: web.url }, b: { type: 'http', url: web.url } }
  const gateway = await createGateway({ upstreams }, { plugins: [plugin] })
  cleanup(t, () => gateway.close())
  await gateway.start()
  const [a, b] = ['a', 'b'].map(upstream => gateway.control('upstream.logs', { upstream, follow: true }))

  await gateway.reload({ upstreams: { b: upstreams.b } })
  await a
  await gateway.close()
  await b
})
