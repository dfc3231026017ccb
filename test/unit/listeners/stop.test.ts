import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { stdioListener } from '../../../src/listeners/stdio/stdio-listener.ts'
import { FakeGate, makeListener, realClock } from './http/fake-gate.ts'
import { initialize, legacy, modern, openStream, parse, send, serve } from './http/client.ts'
import { openOldStream, serveAll, talk } from './http/network.ts'

const STOPPING = /the gateway is stopping/

test('a modern call that is open at the drain deadline is answered with 503 and an error', async t => {
  const { gate, listener, url } = await serve(t)
  const next = gate.next('slow/call')
  const answer = send(url, modern('slow/call', {}, 7))
  await next

  await listener.stop(20)

  const got = await answer
  assert.equal(got.status, 503)
  assert.equal(got.json.id, 7)
  assert.match(got.json.error.message, STOPPING)
})

test('a call that streams at the drain deadline gets the error as its last event', async t => {
  const { gate, listener, url } = await serve(t)
  const session = await initialize(url)
  const next = gate.next('slow/call')
  const opened = openStream(url, legacy(session, { id: 7, method: 'slow/call' }))
  const seen = await next
  seen.emit('notifications/progress', { progress: 1 })
  const stream = await opened
  await stream.next()

  await listener.stop(20)

  const last = await stream.next()
  assert.equal(last?.id, 7)
  assert.match(last?.error.message ?? '', STOPPING)
})

test('a call on a WebSocket or on HTTP+SSE that is open at the drain deadline gets an error', async t => {
  const { gate, listener, at } = await serveAll(t)
  const socket = await talk(at('/ws'))
  const stream = await openOldStream(at('/sse'))
  const first = gate.next('slow/one')
  socket.send({ id: 1, method: 'slow/one' })
  await first
  const second = gate.next('slow/two')
  await stream.post({ id: 2, method: 'slow/two' })
  await second

  const stopped = listener.stop(20)
  const answers = [await socket.next(), await stream.next()]
  await stopped

  assert.deepEqual(
    answers.map(answer => answer?.id),
    [1, 2],
  )
  for (const answer of answers) assert.match(answer?.error.message ?? '', STOPPING)
})

test('a call on stdio that is open at the drain deadline gets an error', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const gate = new FakeGate()
  const config = { shutdown: { grace: '5s' } }
  const listener = makeListener(stdioListener({ input, output }), { type: 'stdio' }, gate, realClock, config)
  await listener.start()
  const next = gate.next('slow/call')
  input.write('{"jsonrpc":"2.0","id":3,"method":"slow/call"}\n')
  await next

  await listener.stop(20)

  const answer = parse(String(output.read()))
  assert.equal(answer.id, 3)
  assert.match(answer.error.message, STOPPING)
})
