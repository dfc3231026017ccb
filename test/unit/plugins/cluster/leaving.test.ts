import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { LIST, open, replicas, say, statusOf, until } from './setting.ts'

/** Longer than others wait before they look whether a replica still lives. */
const WATCHED_MS = 2500

test(
  'a replica that will stop gives its sessions away first, and answers what is under way at it',
  { skip },
  async t => {
    let release: (text: string) => void = () => undefined
    const slow = new Promise<string>(resolve => (release = resolve))
    const web = closeAfter(t, await testUpstream({ tools: { slow: () => slow } }))
    const { urls, gateways } = await replicas(t, 2, {
      upstreams: { web: { type: 'http', url: web.url } },
      shutdown: { delay: '3s', grace: '60s' },
    })
    const [first = '', second = ''] = urls
    const session = await open(first)
    const call = { method: 'tools/call', params: { name: 'web__slow', arguments: {} } }
    const [here, elsewhere] = [say(first, call, session), say(second, { ...call, id: 'b' }, session)]
    await until(() => web.received('tools/call').length === 2)

    const drained = gateways[0]?.gateway.drain()
    await until(async () => {
      for (const url of urls) assert.equal((await say(url, LIST, session)).status, 200)
      return Number((await statusOf(gateways[1] as never)).adopted) === 1
    })
    const { replicas: entries } = await statusOf(gateways[1] as never)
    assert.equal((entries as JsonObject[]).filter(({ isLeaving }) => isLeaving === true).length, 1)
    await new Promise(resolve => setTimeout(resolve, WATCHED_MS))
    release('done')

    for (const answer of [await here, await elsewhere])
      assert.match(JSON.stringify(answer.body.result), /"text":"done"/)
    await drained
    await gateways[0]?.gateway.close()
    assert.equal((await say(second, LIST, session)).status, 200)
    assert.equal(((await statusOf(gateways[1] as never)).replicas as unknown[]).length, 1)
  },
)

test('all sessions of a replica that leaves are taken over, and not one for each look', { skip }, async t => {
  const { urls, gateways } = await replicas(t, 2, { shutdown: { delay: '3s' } })
  const [first = '', second = ''] = urls
  const sessions = await Promise.all(Array.from({ length: 20 }, () => open(first)))

  const drained = gateways[0]?.gateway.drain()
  const [one = '', ...others] = sessions
  const adopted = async (): Promise<number> => Number((await statusOf(gateways[1] as never)).adopted)
  await until(async () => (await say(second, LIST, one)).status === 200 && (await adopted()) === 1)
  for (const session of others) assert.equal((await say(second, LIST, session)).status, 200)
  assert.equal(await adopted(), sessions.length)
  await drained
})

test(
  'a replica that stops ends the streams of others that clients read at it, and does not wait for them',
  { skip },
  async t => {
    // Longer than the test may take.
    const { urls, gateways } = await replicas(t, 2, { shutdown: { grace: '10m' } })
    const [first = '', second = ''] = urls
    const session = await open(second)
    const stream = await fetch(first, { headers: { accept: 'text/event-stream', 'mcp-session-id': session } })
    assert.equal(stream.status, 200)

    await gateways[0]?.gateway.close()

    await stream.text()
    assert.equal((await say(second, LIST, session)).status, 200)
  },
)
