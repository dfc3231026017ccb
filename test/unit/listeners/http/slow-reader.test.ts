import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setImmediate as aTick } from 'node:timers/promises'
import { test } from 'node:test'
import type { Session } from '../../../../src/api/index.ts'
import { serveAll, talk } from './network.ts'
import { until } from '../../../fixtures/until.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const NEWS = { method: 'notifications/message', params: { data: 'x'.repeat(64 * 1024) } }

/** Tells a session news until it takes no more. */
async function fill(session: Session | undefined): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (session?.notify(NEWS) !== true) return
    await aTick()
  }
  throw new Error('there is no bound')
}

test('a WebSocket that is not read misses news, and hears again when it reads on', async t => {
  const { gate, at } = await serveAll(t)
  const client = await talk(at('/ws'))
  client.send({ id: 1, method: 'echo/1' })
  await client.next()
  const [session] = gate.opened

  client.socket.pause()
  await fill(session)
  assert.equal(session?.notify(NEWS), false)
  client.socket.resume()

  await until(() => session?.notify(NEWS) ?? false, 'it hears again')
  client.send({ id: 2, method: 'echo/2' })
  for (;;) if ((await client.next())?.id === 2) break
})

test('a WebSocket is pinged, and cut when it does not answer', async t => {
  const clock = new HandClock()
  const { at } = await serveAll(t, {}, clock)
  const lively = await talk(at('/ws'))
  const deaf = await talk(at('/ws'), { autoPong: false })
  let pings = 0
  lively.socket.on('ping', () => pings++)

  for (let i = 0; i < 3; i++) {
    const pinged = once(lively.socket, 'ping')
    clock.pass(30_000)
    await pinged
    // The answer to a request sent after the ping comes after the pong.
    lively.send({ id: i, method: 'ping' })
    await lively.next()
  }

  assert.equal((await deaf.closed)[0], 1006)
  assert.equal(pings, 3)
  assert.equal(lively.socket.readyState, lively.socket.OPEN)
})

test('an event stream is kept alive, and cut when it is not read', async t => {
  const clock = new HandClock()
  const { gate, at } = await serveAll(t, {}, clock)
  const [stream] = (await once(get(at('/sse')), 'response')) as [IncomingMessage]
  const closed = new Promise(resolve => stream.on('close', resolve))
  stream.on('error', () => undefined)
  const [first] = (await once(stream, 'data')) as [Buffer]
  clock.pass(15_000)
  const [second] = (await once(stream, 'data')) as [Buffer]
  stream.pause()
  const endpoint = /data: (.*)/.exec(String(first))?.[1] ?? ''
  const headers = { 'content-type': 'application/json' }
  const body = '{"jsonrpc":"2.0","id":1,"method":"echo/1"}'
  await fetch(at(endpoint), { method: 'POST', headers, body })
  await fill(gate.opened[0])

  clock.pass(45_000)
  await new Promise(resolve => setTimeout(resolve, 20))
  stream.resume()

  assert.equal(String(second), ':\n\n')
  await closed
  assert.equal(stream.complete, false)
})
