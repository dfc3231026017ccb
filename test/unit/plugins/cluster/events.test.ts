import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { closeAfter, testUpstream, type TestUpstream } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { type Events, initializeAs, listening, openEvents } from '../../listeners/http/events-client.ts'
import { legacy } from '../../listeners/http/client.ts'
import { KEY, LIST, replicas, say, statusOf, until, withKeys } from './setting.ts'

const URIS = Array.from({ length: 6 }, (_, index) => `r:${index}`)
const UPDATED = 'notifications/resources/updated'

/** Two replicas before a server that says what it is told to. */
async function setting(t: TestContext, cluster: object = { events: 'redis' }) {
  let release: (text: string) => void = () => undefined
  let progress: (number: number) => void = () => undefined
  const web = closeAfter(
    t,
    await testUpstream({
      era: 'legacy',
      capabilities: { resources: { subscribe: true } },
      methods: { 'resources/subscribe': () => ({}) },
      resources: Object.fromEntries(URIS.map(uri => [uri, 'text'])),
      tools: {
        slow: (_, { notify, params }) => {
          const { progressToken } = params._meta as { progressToken: string }
          progress = number => notify('notifications/progress', { progressToken, progress: number })
          progress(0)
          return new Promise<string>(resolve => (release = resolve))
        },
      },
    }),
  )
  const upstreams = { web: { type: 'http', url: web.url } }
  const made = await replicas(t, 2, { upstreams, cluster, shutdown: { grace: '1s' } })
  const [first, second] = made.urls.map(url => new URL(url)) as [URL, URL]
  const call = async (session: string): Promise<Events> => {
    const params = { name: 'web__slow', arguments: {}, _meta: { progressToken: 'p' } }
    return openEvents(first, legacy(session, { id: 'call', method: 'tools/call', params }))
  }
  return {
    ...{ ...made, web, first, second, call },
    release: (text: string) => release(text),
    progress: (number: number) => progress(number),
  }
}

async function subscribed(url: URL, session: string): Promise<void> {
  for (const uri of URIS) {
    const { body } = await say(url.href, { method: 'resources/subscribe', params: { uri } }, session)
    assert.deepEqual(body.result, {}, JSON.stringify(body))
  }
}

/** Reads up to the update of one resource; those of `r:0` are said as often as it takes to be heard. */
async function readTo(events: Events, last: string): Promise<{ uris: unknown[]; lastId: string }> {
  const found: unknown[] = []
  let lastId = ''
  while (found.at(-1) !== last) {
    const event = await events.next()
    assert.ok(event, `the stream goes on after ${found.join(' ')}`)
    lastId = event.id ?? lastId
    if (event.data !== '' && event.message.method === UPDATED) found.push(event.message.params.uri)
  }
  return { uris: found.filter(uri => uri !== 'r:0'), lastId }
}

/** Says that a resource was updated until this client has heard it. */
async function heardBy<T>(web: TestUpstream, uri: string, reading: Promise<T>): Promise<T> {
  let isHeard = false
  void reading.then(() => (isHeard = true))
  await until(() => {
    if (!isHeard) web.notify(UPDATED, { uri })
    return isHeard
  })
  return reading
}

test(
  'a client whose replica has left finds at another one what it missed on its stream, and what comes later',
  { skip },
  async t => {
    const { first, second, web, gateways } = await setting(t)
    const [session, observer] = [await initializeAs(first), await initializeAs(first)]
    for (const one of [session, observer]) await subscribed(first, one)
    const [stream, observed] = [
      await openEvents(first, listening(session)),
      await openEvents(first, listening(observer)),
    ]
    const { lastId } = await heardBy(web, 'r:0', readTo(stream, 'r:0'))
    await stream.leave()
    for (const uri of ['r:1', 'r:2', 'r:3']) web.notify(UPDATED, { uri })
    await readTo(observed, 'r:3')
    await until(async () => {
      const { events } = await statusOf(gateways[0] as never)
      return (events as { waiting: number }).waiting === 0
    })

    await gateways[0]?.gateway.close()
    const again = await openEvents(second, listening(session, lastId))
    assert.equal(again.status, 200)
    assert.deepEqual((await readTo(again, 'r:3')).uris, ['r:1', 'r:2', 'r:3'])
    const { uris } = await heardBy(web, 'r:4', readTo(again, 'r:4'))
    assert.deepEqual(uris, ['r:4'])
    const { events } = await statusOf(gateways[1] as never)
    assert.ok((events as { restored: number }).restored >= 4)
    await again.leave()
  },
)

test(
  'the answer of a call that its client missed is there at another replica, and nobody else’s id opens a stream',
  { skip },
  async t => {
    const { first, second, call, progress, release, gateways, redis, ids } = await setting(t)
    const session = await initializeAs(first)
    const stranger = await initializeAs(second)
    const events = await call(session)
    const primed = await events.next()
    assert.equal((await events.next())?.message.params.progress, 0)
    await events.leave()
    for (const number of [1, 2]) progress(number)
    release('done')
    await until(async () => {
      const { events: status } = await statusOf(gateways[0] as never)
      return (status as { written: number }).written === 5
    })

    // As if its lease had run out while it slept, and the other one had taken the session: both believe that it is theirs.
    await redis.ask('HSET', `tg:{gateway}:s:${session}`, 'owner', String(ids[1]), 'epoch', '2')
    await redis.ask('DEL', `tg:{gateway}:replica:${String(ids[0])}`)
    await until(async () => Number((await statusOf(gateways[0] as never)).fenced) === 1)
    assert.equal((await say(second.href, LIST, session)).status, 200)

    for (const id of [primed?.id ?? '', 'AAAAAAAA.1.1', `${primed?.id ?? ''}9999999999999999`])
      assert.equal((await openEvents(second, listening(stranger, id))).status, 400)
    const again = await openEvents(second, listening(session, primed?.id))
    const all = await again.rest()
    assert.deepEqual(
      all.map(({ message }) => message.params?.progress ?? message.result.content),
      [0, 1, 2, [{ type: 'text', text: 'done' }]],
    )
    assert.equal((await openEvents(second, listening(session, all.at(-1)?.id))).status, 204)
    const ended = await fetch(second, { method: 'DELETE', headers: { 'mcp-session-id': session } })
    assert.equal(ended.status, 204)
    await until(async () => (await redis.ask('EXISTS', `tg:gateway:e:${session}`)).startsWith(':0'))
  },
)

test('events that were kept before all keys were rotated are read after it', { skip }, async t => {
  const { first, second, call, progress, release, gateways, redis } = await setting(t)
  const session = await initializeAs(first)
  const events = await call(session)
  const primed = await events.next()
  await events.next()
  await events.leave()
  progress(1)
  release('done')
  const next = { id: 'b', key: randomBytes(32).toString('hex') }
  for (const keys of [
    [KEY, next],
    [next, KEY],
  ])
    for (const gateway of gateways) await withKeys(gateway, keys)
  await until(async () => {
    const entries = await redis.ask('XRANGE', `tg:gateway:e:${session}`, '-', '+')
    return !entries.includes('v1.a.') && entries.match(/v1\.b\./g)?.length === 4
  })

  await gateways[0]?.gateway.close()
  const again = await openEvents(second, listening(session, primed?.id))
  assert.deepEqual(
    (await again.rest()).map(({ message }) => message.params?.progress ?? message.result.content),
    [0, 1, [{ type: 'text', text: 'done' }]],
  )
})

test(
  'without it events cost no command, and the other replica refuses their ids as ever',
  { skip },
  async t => {
    const { first, second, call, release, gateways, redis } = await setting(t, {})
    const session = await initializeAs(first)
    const events = await call(session)
    const primed = await events.next()
    release('done')
    await events.rest()

    assert.equal((await redis.counts()).xadd, undefined)
    assert.equal((await statusOf(gateways[0] as never)).events, undefined)
    await gateways[0]?.gateway.close()
    assert.equal((await openEvents(second, listening(session, primed?.id))).status, 400)
  },
)

test('plain answers cost no command either where events are kept', { skip }, async t => {
  const { first, gateways, redis } = await setting(t)
  const session = await initializeAs(first)
  for (let count = 0; count < 20; count++) assert.equal((await say(first.href, LIST, session)).status, 200)

  assert.equal((await redis.counts()).xadd, undefined)
  assert.deepEqual((await statusOf(gateways[0] as never)).events, {
    ...{ written: 0, waiting: 0, lost: 0, restored: 0 },
  })
})
