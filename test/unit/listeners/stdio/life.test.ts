import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { result } from '../http/fake-gate.ts'
import { INITIALIZE } from '../http/client.ts'
import { modern, pipe } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

// The clock's timers keep no process alive, and on these streams nothing else does.
const alive = setInterval(() => undefined, 1000)
after(() => clearInterval(alive))

test('a listen is stamped, ends by cancellation without a response message, and gracefully when we stop', async () => {
  const client = await pipe()
  const key = 'io.modelcontextprotocol/subscriptionId'
  client.send(modern('subscriptions/listen', 'a'), modern('subscriptions/listen', 2))
  await client.gate.next('subscriptions/listen')
  await new Promise(resolve => setImmediate(resolve))
  for (const seen of client.gate.seen) seen.emit('notifications/tools/list_changed', { a: 1 })

  const first = await client.next()
  const second = await client.next()
  client.send({ method: 'notifications/cancelled', params: { requestId: 'a' } })
  await client.gate.seen[0]?.cancelled
  await client.listener.stop(1000)
  const last = await client.next()

  assert.deepEqual(
    [first.params, second.params],
    [
      { a: 1, _meta: { [key]: 'a' } },
      { a: 1, _meta: { [key]: 2 } },
    ],
  )
  assert.deepEqual(last, { jsonrpc: '2.0', id: 2, result: { resultType: 'complete', _meta: { [key]: 2 } } })
})

test('while the reader is behind nothing more is read, and nothing is lost', async () => {
  const client = await pipe({ highWaterMark: 1024 })
  client.gate.answering = () => result({ text: 'x'.repeat(10_000) })
  client.send(INITIALIZE)
  while (client.output.readableLength === 0) await new Promise(resolve => setImmediate(resolve))

  client.send(...Array.from({ length: 20 }, (_, id) => ({ id: id + 1, method: 'tools/list' })))
  await new Promise(resolve => setImmediate(resolve))
  const ran = client.gate.seen.length
  const ids: unknown[] = []
  for (let count = 0; count < 21; count++) ids.push((await client.next()).id)

  assert.equal(ran, 1)
  assert.deepEqual(
    ids,
    Array.from({ length: 21 }, (_, id) => id),
  )
})

test('when the client closes its end, what is under way is still answered, and then it is over', async () => {
  const client = await pipe()
  client.send(INITIALIZE)
  await client.next()
  client.input.end('{"jsonrpc":"2.0","id":1,"method":"slow/x"}')
  const seen = await client.gate.next('slow/x')
  let ended = false
  void client.listener.ended?.then(() => (ended = true))

  await new Promise(resolve => setImmediate(resolve))
  const before = ended
  seen.resolve(result({ late: true }))
  const answer = await client.next()
  await client.listener.ended

  assert.equal(before, false)
  assert.deepEqual(answer.result, { late: true })
  assert.deepEqual(
    client.gate.closed.map(({ reason }) => reason),
    ['the client closed the connection'],
  )
})

test('servers hear within a quarter of a second that a client has left, however long a stop may take', async () => {
  const clock = new HandClock()
  const client = await pipe({ grace: 10_000, clock })
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()
  const left = clock.now()
  let isOver = false
  void client.listener.ended?.then(() => (isOver = true))

  client.input.end()
  for (; !isOver; clock.pass(1)) for (let turns = 0; turns < 5; turns++) await turn()

  assert.equal(client.gate.seen[1]?.reason, 'shutdown')
  assert.ok(clock.now() - left <= 250, `${clock.now() - left} ms`)
})

test('a client that stops reading for good ends the conversation', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  client.output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await client.listener.ended

  assert.equal(client.gate.seen[1]?.reason, 'shutdown')
  assert.equal(client.gate.closed.length, 1)
})
