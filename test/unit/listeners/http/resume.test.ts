import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, type FakeGate, type Seen } from './fake-gate.ts'
import { initializeAs, listening, openEvents, roundTrip, type Events } from './events-client.ts'
import { legacy, send, serve, type Message } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

interface Called {
  readonly seen: Seen
  readonly events: Events
}

/** A call that has said `said` on its way. */
async function callSaying(gate: FakeGate, url: URL, session: string, said: string, id: unknown = 1): Promise<Called> {
  const next = gate.next('slow/call')
  const opening = openEvents(url, legacy(session, { id, method: 'slow/call' }))
  const seen = await next
  seen.emit('notifications/message', { said })
  return { seen, events: await opening }
}

const saidIn = (events: readonly { message: Partial<Message> | undefined }[]): unknown[] =>
  events.map(({ message }) => message?.params?.said ?? message?.result)

test('the stream of a call begins with an id and the pause before a retry, and ids never repeat', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)

  const { seen, events } = await callSaying(gate, url, session, 'one')
  const other = await callSaying(gate, url, session, 'two', 2)
  seen.resolve(result({ done: 1 }))
  other.seen.resolve(result({ done: 2 }))
  const all = [...(await events.rest()), ...(await other.events.rest())]

  assert.deepEqual([all[0]?.data, all[0]?.retry, all[3]?.data], ['', '1000', ''])
  assert.deepEqual(saidIn([all[1], all[2], all[4], all[5]] as never), ['one', { done: 1 }, 'two', { done: 2 }])
  assert.equal(new Set(all.map(({ id }) => id)).size, 6)
  assert.ok(all.every(({ id }) => id !== undefined))
})

test('a client that comes back hears the rest of that one stream, to its answer', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const { seen, events } = await callSaying(gate, url, session, 'heard')
  const other = await callSaying(gate, url, session, 'other', 2)
  await events.next()
  const heard = await events.next()
  await events.leave()
  seen.emit('notifications/message', { said: 'missed' })
  other.seen.emit('notifications/message', { said: 'other' })

  const again = await openEvents(url, listening(session, heard?.id))
  const missed = await again.next()
  seen.emit('notifications/message', { said: 'live' })
  seen.resolve(result({ done: true }))
  const rest = await again.rest()

  assert.equal(again.response.headers['content-type'], 'text/event-stream')
  assert.equal(again.response.headers['mcp-session-id'], session)
  assert.equal(seen.reason, undefined)
  assert.deepEqual(saidIn([missed, ...rest] as never), ['missed', 'live', { done: true }])
})

test('the answer of a client that went away is kept, and once it is read there is nothing to come back for', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const { seen, events } = await callSaying(gate, url, session, 'heard')
  await events.next()
  const heard = await events.next()
  await events.leave()
  seen.resolve(result({ done: true }))
  await roundTrip(url)

  const first = await (await openEvents(url, listening(session, heard?.id))).rest()
  const second = await (await openEvents(url, listening(session, heard?.id))).rest()
  const nothing = await openEvents(url, listening(session, first[0]?.id))

  assert.deepEqual(saidIn(first), [{ done: true }])
  assert.deepEqual(second, first)
  assert.equal(nothing.status, 204)
})

test('an event id of another session, of nobody or of no shape is refused', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const stranger = await initializeAs(url)
  const { seen, events } = await callSaying(gate, url, session, 'secret')
  const strangers = await callSaying(gate, url, stranger, 'own')
  const primed = await events.next()
  await strangers.events.next()

  const refused = await Promise.all(
    [primed?.id, 'x', '__proto__', primed?.id?.replace(/\.\d+\./, '.999.')].map(id =>
      send(url, { ...listening(stranger, id) }),
    ),
  )
  seen.resolve(result({}))
  strangers.seen.resolve(result({}))

  assert.deepEqual(
    refused.map(({ status, json }) => [status, json.error.code]),
    refused.map(() => [400, -32000]),
  )
})

test('what a session is told while its stream is broken is replayed', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const tell = (said: string) => gate.opened[0]?.notify({ method: 'notifications/x', params: { said } })
  const before = tell('before')
  const events = await openEvents(url, listening(session))
  const primed = await events.next()
  await events.leave()
  const meanwhile = tell('missed')

  const again = await openEvents(url, listening(session, primed?.id))
  tell('live')
  const heard = [await again.next(), await again.next()]
  const fresh = await openEvents(url, listening(session))
  tell('fresh')

  assert.deepEqual([before, meanwhile], [false, true])
  assert.deepEqual(saidIn(heard as never), ['missed', 'live'])
  assert.deepEqual(await again.rest(), [])
  assert.deepEqual(saidIn([await fresh.next(), await fresh.next()] as never), [undefined, 'fresh'])
})

test('a call that takes long gets an id to come back with before it says anything, and its answer is not lost', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, {}, clock)
  const session = await initializeAs(url)
  const older = await initializeAs(url, '2025-06-18')
  const next = gate.next('slow/call')
  const opening = openEvents(url, legacy(session, { id: 1, method: 'slow/call' }))
  const seen = await next
  const nextOlder = gate.next('slow/call')
  const plain = send(url, legacy(older, { id: 1, method: 'slow/call' }))
  const seenOlder = await nextOlder

  clock.pass(1000)
  const events = await opening
  const primed = await events.next()
  await events.leave()
  seen.resolve(result({ done: true }))
  seenOlder.resolve(result({ done: true }))
  const back = await openEvents(url, listening(session, String(primed?.id)))

  assert.equal(primed?.data, '')
  assert.deepEqual(saidIn((await back.rest()) as never), [{ done: true }])
  assert.equal((await plain).headers['content-type'], 'application/json')
})
