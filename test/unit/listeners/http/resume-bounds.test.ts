import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, type FakeGate, type Seen } from './fake-gate.ts'
import { initializeAs, listening, openEvents, roundTrip } from './events-client.ts'
import { legacy, send, serve } from './client.ts'

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
