import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AskReply } from '../../../../src/api/index.ts'
import { result, type FakeGate, type Seen } from './fake-gate.ts'
import { initializeAs, listening, openEvents, type Events } from './events-client.ts'
import { initialize, legacy, modern, send, serve } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

interface Asked {
  readonly seen: Seen
  readonly reply: Promise<AskReply>
  readonly events: Events
}

/** Calls, and has the call ask the client; `events` are those of the call. */
async function askIn(gate: FakeGate, url: URL, session: string, id: unknown = 1): Promise<Asked> {
  const next = gate.next('slow/call')
  const opening = openEvents(url, legacy(session, { id, method: 'slow/call' }))
  const seen = await next
  const reply = seen.ask('elicitation/create', { message: 'Your name?' })
  return { seen, reply, events: await opening }
}

const errorOf = (reply: AskReply): string => ('error' in reply ? reply.error.message : 'no error')

test('neither initialize, a modern request nor a client that takes only JSON can be asked', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const { headers, body } = legacy(session, { id: 1, method: 'tools/call' })

  await send(url, { headers: { ...headers, accept: 'application/json' }, body })
  await send(url, modern('tools/list'))
  await send(url, { headers, body })

  assert.deepEqual(
    gate.seen.map(({ inbound }) => [inbound.method, inbound.ask]),
    [
      ['initialize', undefined],
      ['tools/call', undefined],
      ['tools/list', undefined],
      ['tools/call', undefined],
    ],
    'and none can be when its request is over',
  )
})

test('responses with another id, of another type, of another session or for the second time answer nothing', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const stranger = await initialize(url)
  const first = await askIn(gate, url, session, 1)
  const second = await askIn(gate, url, session, 2)
  const other = await askIn(gate, url, stranger, 1)
  const id = (await first.events.next())?.message.id
  const secondId = (await second.events.next())?.message.id
  const foreignId = (await other.events.next())?.message.id
  const post = (who: string, id: unknown, from: string) =>
    send(url, legacy(who, { id, result: { from } })).then(({ status }) => status)

  const statuses = [
    await post(session, 'ask-99', 'unknown'),
    await post(session, 1, 'number'),
    await post(session, null, 'null'),
    await post(stranger, secondId, 'stranger'),
    await post(session, foreignId, 'foreign'),
    await post(session, id, 'right'),
    await post(session, id, 'late'),
    await post(session, secondId, 'second'),
    await post(stranger, foreignId, 'other'),
  ]

  assert.ok(statuses.every(status => status === 202))
  assert.notEqual(id, foreignId)
  assert.deepEqual(await first.reply, { result: { from: 'right' } })
  assert.deepEqual(await second.reply, { result: { from: 'second' } })
  assert.deepEqual(await other.reply, { result: { from: 'other' } })
})

test('a cancelled call takes its ask back', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const { reply, events } = await askIn(gate, url, session)
  const ask = await events.next()

  const cancel = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } }
  await send(url, legacy(session, cancel))

  const cancelled = await events.next()
  assert.deepEqual(
    [cancelled?.message.method, cancelled?.message.params],
    ['notifications/cancelled', { requestId: ask?.message.id, reason: 'enough' }],
  )
  assert.equal(errorOf(await reply), 'enough')
})

test('an ask waits 600 seconds, and 64 of a session wait at a time', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, {}, clock)
  const session = await initialize(url)
  const { seen, reply, events } = await askIn(gate, url, session)
  const more = Array.from({ length: 63 }, () => seen.ask('roots/list'))

  const tooMany = await seen.ask('roots/list')
  clock.pass(599_999)
  const answeredLate = await Promise.race([reply, Promise.resolve('nothing yet')])
  clock.pass(1)
  const replies = await Promise.all([reply, ...more])
  const ask = await events.next()
  let cancelled = await events.next()
  while (cancelled?.message.method === 'roots/list') cancelled = await events.next()

  assert.match(errorOf(tooMany), /64/)
  assert.equal(answeredLate, 'nothing yet')
  assert.ok(replies.every(reply => /600 s/.test(errorOf(reply))))
  assert.equal(cancelled?.message.params.requestId, ask?.message.id)
})

test('when a client that cannot come back goes away, its asks fail and its call goes on', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const { seen, reply, events } = await askIn(gate, url, session)
  await events.next()

  await events.leave()

  assert.match(errorOf(await reply), /closed the connection/)
  assert.match(errorOf(await seen.ask('roots/list')), /closed the connection/)
  assert.equal(seen.reason, undefined)
})

test('a client that comes back is still asked, and its answer still counts', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const { seen, reply, events } = await askIn(gate, url, session)
  const primed = await events.next()
  await events.leave()
  const second = seen.ask('roots/list')

  const again = await openEvents(url, listening(session, primed?.id))
  const ids = [(await again.next())?.message.id, (await again.next())?.message.id]
  for (const id of ids) await send(url, legacy(session, { id, result: { to: id } }))
  seen.resolve(result({ done: true }))
  const answer = await again.next()

  assert.deepEqual(
    await Promise.all([reply, second]),
    ids.map(id => ({ result: { to: id } })),
  )
  assert.deepEqual(answer?.message.result, { done: true })
})
