import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectControl } from '../../../src/control/client.ts'
import { MAX_REQUEST } from '../../../src/control/protocol.ts'
import { directory, HELLO, next, opened, raw, skip } from './bench.ts'

test(
  'garbage, another version, an oversized line and a request before hello end the conversation, and no other',
  { skip },
  async t => {
    const socket = join(await directory(t), 'a.sock')
    await opened(t, socket)
    const client = await connectControl(socket)
    t.after(() => client.close())
    const wrong = [
      'GET / HTTP/1.1\r\n',
      '\u0000\u0001\u0002\n',
      '{"jsonrpc":"2.0","id":1,"method":"ps"}\n',
      '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":99}}\n',
      `${HELLO}${'x'.repeat(MAX_REQUEST + 2)}`,
    ]

    for (const text of wrong) {
      const peer = raw(t, socket)
      peer.to.write(text)
      let said = await next(peer.lines)
      if (text.startsWith(HELLO)) said = await next(peer.lines)
      assert.ok(said.error, text.slice(0, 20))
      peer.to.end()
      await peer.closed
    }
    assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
  },
)

test('who connects and says nothing is sent away', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket, { helloMs: 50 })
  const peer = raw(t, socket)
  peer.to.resume()
  const alive = setInterval(() => undefined, 1000)

  await peer.closed
  clearInterval(alive)

  const client = await connectControl(socket)
  assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
  client.close()
})

test('of a hundred connections those within the bound are served, and room comes back', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket)

  const settled = await Promise.allSettled(Array.from({ length: 100 }, () => connectControl(socket)))
  const clients = settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  assert.equal(clients.length, 64)
  const answers = await Promise.all(clients.map(client => client.request('ps')))
  assert.equal(answers.length, 64)

  for (const client of clients) client.close()
  for (;;) {
    const again = await connectControl(socket).catch(() => undefined)
    again?.close()
    if (again !== undefined) break
  }
})

test('a slow reader misses news and is told how many', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  const text = 'x'.repeat(1000)
  const release: { tell?: () => void } = {}
  await opened(t, socket, {
    control: (_verb, _params, { onNotification }) => {
      for (let i = 0; i < 5000; i++) onNotification?.({ method: 'log', params: { text } })
      return new Promise(resolve => {
        release.tell = () => {
          onNotification?.({ method: 'log', params: { text: 'last' } })
          resolve({})
        }
      })
    },
  })
  const peer = raw(t, socket)
  peer.to.write(`${HELLO}{"jsonrpc":"2.0","id":2,"method":"follow"}\n`)
  let heard = 0
  let missed = 0
  for (;;) {
    const line = JSON.parse(String((await peer.lines.next()).value)) as {
      id?: number
      params?: { text: string; missed?: number }
    }
    if (line.params !== undefined) heard++
    missed += line.params?.missed ?? 0
    if (heard > 500 && peer.to.readableLength === 0) release.tell?.()
    if (line.id === 2) break
  }
  assert.ok(missed > 0 && heard + missed === 5001, `${heard} heard, ${missed} missed`)
})
