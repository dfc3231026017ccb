import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { LIST, open, replicas, say, until } from './setting.ts'

test('a replica that will stop keeps its sessions until then, and answers what is under way', { skip }, async t => {
  let release: (text: string) => void = () => undefined
  const slow = new Promise<string>(resolve => (release = resolve))
  const web = closeAfter(t, await testUpstream({ tools: { slow: () => slow } }))
  const { urls, gateways } = await replicas(t, 2, {
    upstreams: { web: { type: 'http', url: web.url } },
    shutdown: { delay: '1s', grace: '60s' },
  })
  const [first = '', second = ''] = urls
  const session = await open(first)
  const call = { method: 'tools/call', params: { name: 'web__slow', arguments: {} } }
  const [here, there] = [say(first, call, session), say(second, { ...call, id: 'b' }, session)]
  await until(() => web.listCalls('tools/call').length === 2)

  const drained = gateways[0]?.gateway.drain()
  for (const url of urls) assert.equal((await say(url, LIST, session)).status, 200)
  await drained
  const closed = gateways[0]?.gateway.close()
  release('done')

  for (const answer of [await here, await there]) assert.match(JSON.stringify(answer.body.result), /"text":"done"/)
  await closed
  assert.equal((await say(second, LIST, session)).status, 404)
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
