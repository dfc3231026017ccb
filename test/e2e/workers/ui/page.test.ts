import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../../src/testing/index.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { open } from '../../../unit/plugins/ui/setting.ts'
import { serving } from '../../cli/run.ts'
import { everything, skipOne, twoWorkers } from '../setting.ts'

const isOff = { skip: process.platform === 'win32' }

test('"gateway ui" serves a page of what all workers tell', isOff, async t => {
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'x' }, ttlMs: 60_000 }))
  const upstreams = { all: everything(), web: { type: 'http', url: web.url } }
  const { url, cwd } = await twoWorkers(t, { upstreams })
  for (let turn = 0; turn < 2; turn++) {
    await closeAfter(t, await testClient(url)).request('tools/list', {})
    await skipOne(url)
  }
  const page = serving(t, ['ui', '--no-open'], { cwd })
  const link = await new Promise<string>(resolve =>
    createInterface({ input: page.child.stdout }).once('line', resolve),
  )
  const { json } = await open(link)

  const { servers, level } = await json('overview')
  assert.deepEqual((servers as JsonObject[]).map(({ name }) => name).sort(), ['all', 'web'])
  assert.equal(level, 'ok')
  const { tools, total } = await json('tools?limit=500')
  const names = (tools as JsonObject[]).map(({ name }) => String(name))
  assert.equal(new Set(names).size, total)
  assert.ok(names.includes('web__echo'))
  const { values } = await json('config')
  assert.ok((values as JsonObject[]).some(({ pointer }) => pointer === '/upstreams/web/url'))
  assert.deepEqual(await json('tasks'), { calls: [], tasks: [] })
  assert.ok(Number((await json('cache')).total) > 0)
  const shown = await json('shown', { tool: 'web__echo', server: 'web', client: 'claude-code' })
  assert.equal(shown.isShown, true)
  const { outcome } = await json('explain', { tool: 'web__echo' })
  assert.equal((outcome as JsonObject).what, 'server')
  const stopped = await json('server', { name: 'all', action: 'stop' })
  assert.match(JSON.stringify(stopped), /"state":"stopped"/)
  assert.ok(Number((await json('refresh', {})).tools) > 0)
})
