import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, type FakeGate, type Seen } from './fake-gate.ts'
import { initializeAs, listening, openEvents, roundTrip } from './events-client.ts'
import { legacy, send, serve } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const KIB = 1024

/** A call whose client goes away after the first event; the id it could come back with. */
async function leftCall(gate: FakeGate, url: URL, session: string, id = 1): Promise<[Seen, string]> {
  const next = gate.next('slow/call')
  const opening = openEvents(url, legacy(session, { id, method: 'slow/call' }))
  const seen = await next
  seen.emit('notifications/message', {})
  const events = await opening
  const primed = await events.next()
  await events.leave()
  return [seen, primed?.id ?? '']
}

test('of one session 256 events are kept, and a stream without any is forgotten', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const calls: [Seen, string][] = []
  for (let id = 1; id <= 4; id++) calls.push(await leftCall(gate, url, session, id))
  const [first, ...others] = calls as [[Seen, string], ...[Seen, string][]]
  first[0].resolve(result({}))
  await roundTrip(url)

  for (const [seen] of others) for (let count = 1; count <= 128; count++) seen.emit('notifications/progress', { count })
  const gone = await send(url, { ...listening(session, first[1]) })
  for (const [seen] of others) seen.resolve(result({}))
  await roundTrip(url)
  const kept = await Promise.all(
    others.map(([, id]) => openEvents(url, listening(session, id)).then(again => again.rest())),
  )

  assert.equal(gone.status, 400)
  assert.equal(kept.flat().length, 256)
})

test('of one session 1 MiB is kept', async t => {
  const { gate, url } = await serve(t)
  const session = await initializeAs(url)
  const [seen, id] = await leftCall(gate, url, session)

  for (const name of ['a', 'b', 'c']) seen.emit('notifications/message', { name, text: 'x'.repeat(400 * KIB) })
  seen.resolve(result({ done: true }))
  await roundTrip(url)
  const events = await (await openEvents(url, listening(session, id))).rest()

  assert.deepEqual(
    events.map(({ message }) => message.params?.name),
    ['b', 'c', undefined],
  )
})

test('who comes back and does not read the replay misses what more comes, and is cut in the end', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, {}, clock)
  const session = await initializeAs(url)
  const events = await openEvents(url, listening(session))
  const primed = await events.next()
  await events.leave()
  const tell = () => gate.opened[0]?.notify({ method: 'notifications/x', params: { text: 'x'.repeat(500 * KIB) } })
  tell()
  tell()

  const again = await openEvents(url, listening(session, primed?.id))
  again.response.pause()
  for (let count = 0; count < 40; count++) {
    tell()
    await new Promise(resolve => setImmediate(resolve))
  }
  clock.pass(40_000)
  await new Promise(resolve => setImmediate(resolve))
  again.response.resume()
  const read = await again.rest()

  assert.equal(again.response.complete, false)
  assert.ok(read.length < 40, `${read.length} events came through`)
  assert.equal(tell(), true, 'what comes then is kept for the next time')
})
