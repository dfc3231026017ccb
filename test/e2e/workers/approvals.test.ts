import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetch } from 'undici'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { modern } from '../../unit/fixtures/by-token.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { gateway } from '../cli/run.ts'
import { twoWorkers, until, type Running } from './setting.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly replica: string
}

async function rowsOf({ cwd }: Running): Promise<Row[]> {
  const listed = JSON.parse((await gateway(['approvals', 'list', '--json'], { cwd })).stdout) as {
    approvals: Row[]
  }
  return listed.approvals
}

async function decide({ cwd }: Running, verb: 'approve' | 'deny', id: string): Promise<number | null> {
  return (await gateway(['approvals', verb, id], { cwd })).code
}

/** Begins a call on a connection of its own, so that the next worker gets the next one. */
async function call(url: string): Promise<string> {
  const { headers = {}, ...init } = modern('tools/call', { name: 'web__send', arguments: {} })
  const own = { ...(headers as Record<string, string>), connection: 'close' }
  return (await fetch(url, { ...(init as object), headers: own })).text()
}

async function asking(): Promise<{ web: Awaited<ReturnType<typeof testUpstream>>; config: object }> {
  const web = await testUpstream({ tools: { send: () => 'sent' } })
  const config = {
    upstreams: { web: { type: 'http', url: web.url } },
    policy: { ask: [{ for: 'web__*', when: 'true' }] },
    approve: { by: ['owner'] },
  }
  return { web, config }
}

test('calls that wait at several workers are listed once each, and decided once', async t => {
  const { web, config } = await asking()
  closeAfter(t, web)
  const running = await twoWorkers(t, config)
  const calls = [call(running.url), call(running.url)]
  await until(async () => (await rowsOf(running)).length >= 2)

  const rows = await rowsOf(running)
  assert.equal(rows.length, 2)
  assert.equal(new Set(rows.map(({ id }) => id)).size, 2)
  assert.equal(new Set(rows.map(({ replica }) => replica)).size, 2, 'one waits at each worker')
  const [first, second] = rows.map(({ id }) => id)
  assert.equal(await decide(running, 'approve', String(first)), 0)
  assert.equal(await decide(running, 'deny', String(first)), 1, 'the first decision counts')
  assert.equal(await decide(running, 'deny', String(second)), 0)
  const answers = (await Promise.all(calls)).map(text => (text.includes('approval_denied') ? 'denied' : text))
  assert.equal(answers.filter(text => text === 'denied').length, 1)
  assert.equal(web.received('tools/call').length, 1)
  assert.deepEqual(await rowsOf(running), [])
})

test('with cluster, the workers of two machines list each call once', { skip }, async t => {
  const redis = await redisFor(t)
  const { web, config } = await asking()
  closeAfter(t, web)
  const key = { id: 'a', key: Buffer.alloc(32, 6).toString('base64') }
  const both = { ...config, cluster: { redis: redis.url, keys: [key] } }
  const [here, there] = [await twoWorkers(t, both), await twoWorkers(t, both)]
  const calls = [call(here.url), call(here.url), call(there.url)]
  await until(async () => (await rowsOf(here)).length >= 3)

  for (const machine of [here, there]) {
    const rows = await rowsOf(machine)
    assert.equal(rows.length, 3)
    assert.equal(new Set(rows.map(({ id }) => id)).size, 3)
  }
  for (const { id } of await rowsOf(here)) assert.equal(await decide(there, 'approve', id), 0)
  for (const text of await Promise.all(calls)) assert.match(text, /sent/)
  assert.equal(web.received('tools/call').length, 3)
})
