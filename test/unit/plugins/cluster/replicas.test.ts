import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { closeAfter, testClient } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { echo, INITIALIZE, KEY, LIST, open, replicas, say, statusOf, until, withKeys } from './setting.ts'

const EVERYTHING = fileURLToPath(new URL('../../../fixtures/everything.mjs', import.meta.url))

test('a session is answered by the replica that has it, wherever its requests arrive', { skip }, async t => {
  const { urls, ids, gateways } = await replicas(t, 2)
  const [first = '', second = ''] = urls
  const session = await open(first)

  assert.ok(session.startsWith(`${String(ids[0])}_`))
  assert.match(await echo(second, session, 'x'), /^200 .*\\"text\\":\\"x\\"/)
  assert.match(await echo(first, session, 'y'), /^200 .*\\"text\\":\\"y\\"/)
  const [one, other] = await Promise.all(gateways.map(statusOf))
  assert.deepEqual([one?.taken, one?.handedOn], [1, 0])
  assert.deepEqual([other?.taken, other?.handedOn], [0, 1])
  assert.equal((one?.replicas as unknown[]).length, 2)
})

test('an id that nobody gave out is 404, and Redis is not asked', { skip }, async t => {
  const { urls, ids, redis } = await replicas(t, 2)
  const [, second = ''] = urls
  await say(second, LIST, `${String(ids[0])}_${'a'.repeat(48)}`)
  const before = await redis.counts()

  for (const id of [`${String(ids[0])}_${'a'.repeat(48)}`, `r${'0'.repeat(16)}_x`, 'w1_x', 'nonsense'])
    assert.equal((await say(second, LIST, id)).status, 404)

  const { hkeys = 0 } = await redis.counts()
  assert.ok(hkeys - (before.hkeys ?? 0) <= 8, 'only what replicas say of themselves')
})

test('modern calls need nothing of another replica, and Redis hears of none', { skip }, async t => {
  const { gateways, redis } = await replicas(t, 2)
  const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
  const call = { name: 'web__echo', arguments: { text: 'x' } }
  for (const client of clients) await client.request('tools/call', call)

  // What replicas say of themselves is counted apart: it is as much without a call.
  const count = async (): Promise<number> => {
    const { get = 0, set = 0, incrby = 0, eval: evals = 0 } = await redis.counts()
    return get + set + incrby + evals
  }
  const before = await count()
  for (let turn = 0; turn < 50; turn++)
    for (const client of clients) assert.equal((await client.request('tools/call', call)).error, undefined)

  assert.equal(await count(), before)
})

test('a session of a replica that was killed or has left is 404, and others are served', { skip }, async t => {
  const { urls, gateways } = await replicas(t, 3)
  const [first = '', second = '', third = ''] = urls
  const session = await open(first)
  const other = await open(second)
  await gateways[0]?.gateway.close()

  for (const url of [second, third]) {
    const { status, body } = await say(url, LIST, session)
    assert.deepEqual([status, (body.error as { code?: number }).code], [404, -32001])
  }
  assert.match(await echo(third, other, 'x'), /^200/)
  const again = await open(third)
  assert.match(await echo(second, again, 'y'), /^200/)
})

test('answers to what a server asks of a client reach the owner of the session', { skip }, async t => {
  const all = { type: 'stdio', command: process.execPath, args: [EVERYTHING, '--stdio'], prefix: '' }
  const { urls } = await replicas(t, 2, { upstreams: { all } })
  const [first = '', second = ''] = urls
  const { session } = await say(first, {
    ...INITIALIZE,
    params: { ...INITIALIZE.params, capabilities: { elicitation: {} } },
  })
  await say(first, { method: 'notifications/initialized', id: undefined }, session)
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
  }
  const params = { name: 'test_elicitation', arguments: { message: 'who' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params })
  const answer = await fetch(second, { method: 'POST', headers, body })
  let heard = ''
  let isAnswered = false
  for await (const chunk of answer.body ?? []) {
    heard += Buffer.from(chunk as Uint8Array).toString()
    const asked =
      /"id":("[^"]*"|\d+),"method":"elicitation\/create"|"method":"elicitation\/create".*"id":("[^"]*"|\d+)/.exec(heard)
    if (asked === null || isAnswered) continue
    isAnswered = true
    const id: unknown = JSON.parse(asked[1] ?? asked[2] ?? '')
    const result = { action: 'accept', content: { username: 'ann' } }
    const replied = await fetch(second, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, result }),
    })
    assert.equal(replied.status, 202)
  }
  assert.match(heard, /action=accept.*ann/)
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

    const forged = ['HSET', 'tg:{gateway}:replicas', String(ids[0]), `${Date.now() + 60_000} v1.a.forged.e30`]
    await until(async () => {
      await redis.ask(...forged)
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
