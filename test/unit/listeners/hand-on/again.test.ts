import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Neighbour } from '../../../../src/api/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { addressOf, ask, entry, neighbour, owner, SESSION } from './setting.ts'

test('where nobody listens any more the request is offered elsewhere, with its body', async t => {
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port: dead } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  const living = await owner(t, (asked, response) => void asked.pipe(response))
  for (const [where, served] of [
    [neighbour(addressOf(living)), undefined],
    ['here', 'here'],
  ] as const) {
    const { port } = await entry(t, () =>
      neighbour({ host: '127.0.0.1', port: dead }, { refused: () => where }),
    )
    const { text, headers } = await ask(port, 'whole')
    assert.deepEqual([text, headers['x-served']], ['whole', served])
  }
  const again = (): Neighbour => neighbour({ host: '127.0.0.1', port: dead }, { refused: again })
  const { port } = await entry(t, again)
  const { status, headers } = await ask(port, 'x')
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
})

test('what is known to be dead before anything was sent is looked for elsewhere', async t => {
  let asks = 0
  const dead = await owner(t, (_asked, response) => {
    asks++
    response.end()
  })
  const living = await owner(t, (asked, response) => void asked.pipe(response))
  const onGone = (end: () => void): (() => void) => {
    end()
    return () => undefined
  }
  const refused = (): Neighbour => neighbour(addressOf(living))
  const { port } = await entry(t, () => neighbour(addressOf(dead), { onGone, refused }))
  assert.equal((await ask(port, 'whole')).text, 'whole')
  assert.equal(asks, 0)
})

/** A process that has nothing of what it is asked for. */
function stranger(t: TestContext): Promise<Server> {
  return owner(
    t,
    (asked, response) => void asked.resume().on('end', () => response.writeHead(421, NOT_HERE).end('{}')),
  )
}

const NOT_HERE = { 'x-tapgate-handed': 'no' }

test('a short request goes on to where it is now, as the other has not got it any more', async t => {
  const server = await stranger(t)
  const living = await owner(t, (asked, response) => void asked.pipe(response))
  for (const [where, served] of [
    [neighbour(addressOf(living)), undefined],
    ['here', 'here'],
  ] as const)
    for (const [body, framing] of [
      ['', {}],
      ['{"small":"ä"}', {}],
      ['z'.repeat(16 * 1024), { 'content-type': 'application/json' }],
    ] as const) {
      const { port } = await entry(t, () =>
        neighbour(addressOf(server), { misdirected: () => Promise.resolve(where) }),
      )
      const { status, text, headers } = await ask(port, body, framing)
      assert.deepEqual([status, text, headers['x-served']], [200, body, served])
    }
})

test('a short request whose body comes in pieces goes on whole', async t => {
  const server = await stranger(t)
  const living = await owner(t, (asked, response) => void asked.pipe(response))
  const { port } = await entry(t, () =>
    neighbour(addressOf(server), { misdirected: () => neighbour(addressOf(living)) }),
  )
  const socket = connect(port, '127.0.0.1')
  cleanup(t, () => socket.destroy())
  socket.write(`POST /mcp HTTP/1.1\r\nhost: a\r\nmcp-session-id: ${SESSION}\r\ncontent-length: 6\r\n\r\nab`)
  await wait(50)
  socket.write('cd')
  await wait(50)
  socket.write('ef')
  let heard = ''
  for await (const piece of socket) if ((heard += String(piece)).endsWith('abcdef\r\n0\r\n\r\n')) break
  assert.match(heard, /^HTTP\/1\.1 200/)
})

test('a long request that has gone to the wrong one is not sent again, and neither is one that nobody has', async t => {
  let asks = 0
  const server = await stranger(t)
  const misdirected = (): Neighbour => (asks++, neighbour(addressOf(server), { misdirected }))
  const { port } = await entry(t, misdirected)
  for (const [body, times] of [
    ['x'.repeat(100_000), 2],
    ['x', 4],
  ] as const) {
    asks = 0
    const { status, headers } = await ask(port, body)
    assert.deepEqual([status, headers['retry-after'], asks], [503, '1', times])
  }
  const silent = await entry(t, () => neighbour(addressOf(server)))
  assert.equal((await ask(silent.port, 'x')).status, 503)
  const listener = await owner(t, (_asked, response) => void response.writeHead(421).end('of its own'))
  const other = await entry(t, () => neighbour(addressOf(listener)))
  assert.equal((await ask(other.port, 'x')).status, 421)
})
