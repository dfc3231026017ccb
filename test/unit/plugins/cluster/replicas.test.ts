import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { request } from 'node:http'
import { closeAfter, testClient } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { echo, KEY, LIST, open, replicas, say, statusOf, until, withKeys } from './setting.ts'

test('a session is answered by the replica that has it, wherever its requests arrive', { skip }, async t => {
  const { urls, ids, gateways } = await replicas(t, 2)
  const [first = '', second = ''] = urls
  const session = await open(first)

  assert.ok(session.startsWith(`${String(ids[0])}_`))
  assert.match(await echo(second, session, 'x'), /^200 .*\\"text\\":\\"x\\"/)
  assert.match(await echo(first, session, 'y'), /^200 .*\\"text\\":\\"y\\"/)
  const [one, other] = await Promise.all(gateways.map(statusOf))
  assert.deepEqual([one?.taken, one?.handedOn], [1, 0])
  assert.deepEqual([other?.taken, other?.handedOn, other?.adopted], [0, 1, 0])
  assert.equal((one?.replicas as unknown[]).length, 2)
})

test('an id that nobody gave out is 404, and Redis is not asked', { skip }, async t => {
  const { urls, ids, redis } = await replicas(t, 2)
  const [, second = ''] = urls
  await say(second, LIST, `${String(ids[0])}_${'a'.repeat(48)}`)
  const before = await redis.counts()

  for (const id of [`${String(ids[0])}_${'a'.repeat(48)}`, `r${'0'.repeat(16)}_x`, 'w1_x', 'nonsense'])
    assert.equal((await say(second, LIST, id)).status, 404)

  const { get: gets = 0 } = await redis.counts()
  assert.ok(gets - (before.get ?? 0) <= 2, 'only what replicas say of themselves')
})

test('modern calls need nothing of another replica, and Redis hears of none', { skip }, async t => {
  const { gateways, redis } = await replicas(t, 2)
  const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
  const call = { name: 'web__echo', arguments: { text: 'x' } }
  for (const client of clients) await client.request('tools/call', call)

  // What replicas say of themselves is counted apart: it is as much without a call.
  const count = async (): Promise<number> => {
    const { hget = 0, hmget = 0, hset = 0, eval: evals = 0 } = await redis.counts()
    return hget + hmget + hset + evals
  }
  const before = await count()
  for (let turn = 0; turn < 50; turn++)
    for (const client of clients) assert.equal((await client.request('tools/call', call)).error, undefined)

  assert.equal(await count(), before)
})

test(
  'a session of a replica that has left is gone on with by another, subscriptions and all',
  { skip },
  async t => {
    const { urls, gateways } = await replicas(t, 3)
    const [first = '', second = '', third = ''] = urls
    const session = await open(first)
    await say(first, { method: 'logging/setLevel', params: { level: 'debug' } }, session)
    await until(async () => (await statusOf(gateways[0] as never)).sessions === 1)
    await gateways[0]?.gateway.close()

    const answers = await Promise.all([second, third, second, third].map(url => echo(url, session, 'again')))

    for (const answer of answers) assert.match(answer, /^200 .*again/)
    const [two, three] = await Promise.all(gateways.slice(1).map(statusOf))
    assert.equal(Number(two?.adopted) + Number(three?.adopted), 1)
    const gone = await fetch(second, { method: 'DELETE', headers: { 'mcp-session-id': session } })
    assert.equal(gone.status, 204)
    await until(async () => (await say(third, LIST, session)).status === 404)
  },
)

test('a session that another replica goes on with is shown what its client has chosen', { skip }, async t => {
  const { urls, gateways } = await replicas(t, 2, { surface: { mode: 'full', choices: ['search'] } })
  const [first = '', second = ''] = urls.map(url => `${url}?surface=search`)
  const session = await open(first)
  await until(async () => (await statusOf(gateways[0] as never)).sessions === 1)
  await gateways[0]?.gateway.close()

  const { status, body } = await say(second, LIST, session)
  assert.equal(status, 200)
  assert.match(JSON.stringify(body), /"search_tools"/)
})

test(
  'while Redis is away owners serve, others say 503 and not 404, and modern clients notice nothing',
  { skip },
  async t => {
    const { urls, redis, gateways } = await replicas(t, 2)
    const [first = '', second = ''] = urls
    const session = await open(first)
    await redis.stop()
    await until(async () => (await statusOf(gateways[1] as never)).store === 'away')

    assert.match(await echo(first, session, 'x'), /^200/)
    const elsewhere = await say(second, LIST, session)
    assert.ok([200, 503].includes(elsewhere.status), 'where the owner is known of late, it is asked')
    const other = await open(first)
    const unknown = await say(second, LIST, other)
    assert.ok([200, 503].includes(unknown.status))
    if (unknown.status === 503) assert.equal(unknown.headers.get('retry-after'), '1')
    assert.equal((await fetch(new URL('/readyz', second))).status, 200)
    const client = closeAfter(t, await testClient(second))
    assert.equal((await client.request('tools/list')).error, undefined)

    await redis.start()
    await until(async () => (await say(second, LIST, session)).status === 200)
    await until(async () => (await redis.ask('EXISTS', `tg:{gateway}:s:${session}`)).startsWith(':1'))
    assert.equal((await statusOf(gateways[0] as never)).fenced, 0)
  },
)

test(
  'a replica whose sessions were taken while it slept lets go of them, and goes on under another id',
  { skip },
  async t => {
    const { urls, redis, ids, gateways } = await replicas(t, 2)
    const [first = '', second = ''] = urls
    const session = await open(first)
    const key = `tg:{gateway}:s:${session}`
    await until(async () => (await redis.ask('EXISTS', key)).startsWith(':1'))

    // As if its lease had run out while it slept, and the other one had taken the session.
    await redis.ask('HSET', key, 'owner', String(ids[1]), 'epoch', '2')
    await redis.ask('DEL', `tg:{gateway}:replica:${String(ids[0])}`)

    await until(async () => (await statusOf(gateways[0] as never)).fenced === 1)
    assert.match(await echo(first, session, 'x'), /^200/)
    assert.match(await echo(second, session, 'y'), /^200/)
    const [one, other] = await Promise.all(gateways.map(statusOf))
    assert.deepEqual([one?.sessions, other?.sessions], [0, 1])
  },
)

test(
  'forged and repeated hand-ons are refused and counted, and so is a forged entry of the directory',
  { skip },
  async t => {
    const { urls, ids, redis, gateways } = await replicas(t, 2)
    const [first = '', second = ''] = urls
    const session = await open(first)
    const entries = (await statusOf(gateways[0] as never)).replicas as { id: string; address: string }[]
    const port = Number(entries.find(({ id }) => id === ids[0])?.address.split(':')[1])

    for (const voucher of [undefined, '', 'v1.a.x.e30', `v1.a.${'A'.repeat(43)}.e30`])
      assert.equal(await knock(port, session, voucher), 403)
    assert.equal((await statusOf(gateways[0] as never)).refused, 4)

    const key = `tg:{gateway}:replica:${String(ids[0])}`
    await redis.ask('SET', key, 'v1.a.forged.e30', 'PX', '60000')
    await until(async () => {
      assert.equal((await say(second, LIST, session)).status, 200)
      return Number((await statusOf(gateways[1] as never)).forged) > 0
    })
    assert.equal((await say(second, LIST, session)).status, 200)
  },
)

test(
  'keys are rotated in three steps without a session lost; nothing else of the section changes while it runs',
  { skip },
  async t => {
    const { urls, gateways } = await replicas(t, 2)
    const [first = '', second = ''] = urls
    const next = { id: 'b', key: randomBytes(32).toString('hex') }
    const session = await open(first)

    for (const keys of [[KEY, next], [next, KEY], [next]])
      for (const gateway of gateways) {
        await withKeys(gateway, keys)
        assert.equal((await say(first, LIST, session)).status, 200)
        if (keys.length > 1) assert.equal((await say(second, LIST, session)).status, 200)
      }

    const later = await open(first)
    assert.equal((await say(second, LIST, later)).status, 200)
    const [one] = gateways
    await assert.rejects(withKeys(one as never, [{ id: 'c', key: 'x'.repeat(43) + '!' }]))
    assert.equal((await say(second, LIST, later)).status, 200)
  },
)

function knock(port: number, session: string, voucher: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'mcp-session-id': session,
      ...(voucher === undefined ? {} : { 'x-tapgate-handed': voucher }),
    }
    const asked = request({ host: '127.0.0.1', port, method: 'POST', path: '/mcp', headers }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.on('error', reject)
    asked.end('{}')
  })
}
