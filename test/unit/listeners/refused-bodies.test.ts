import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { Plugin } from '../../../src/plugin.ts'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { LINGERING } from '../../../src/listeners/http/read-body.ts'
import { loopTurns } from '../../../src/transport/loop-turns.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'
import { HandClock } from '../fixtures/hand-clock.ts'
import { modern } from './http/client.ts'
import { serveAll } from './http/network.ts'

const LENGTH = 400 * 1024
const MAX = 512 * 1024
const MIB = 1024 * 1024
const TIMES = 10

/** Bodies that are refused for what is in them, and for their length or type. */
const REFUSED: Readonly<
  Record<string, readonly [body: string, type: string, status: number, version?: string]>
> = {
  'that is no message': ['{"a":'.padEnd(LENGTH, 'x'), 'application/json', 400],
  'that is no batch': ['['.repeat(LENGTH), 'application/json', 400],
  'that is a batch of no session': [
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'.padEnd(LENGTH),
    'application/json',
    400,
  ],
  'that is too large': [' '.repeat(3 * MAX), 'application/json', 413],
  'of another type': [' '.repeat(LENGTH), 'text/plain', 415],
  'of a request whose headers say another method': [
    modern('prompts/get', { text: 'x'.repeat(LENGTH) }).body,
    'application/json',
    400,
  ],
  'of a request that is modern by its headers alone': [
    message({ id: 1, method: 'tools/list' }),
    'application/json',
    400,
  ],
  'of a notification that nobody waits for': [
    message({ method: 'notifications/progress' }),
    'application/json',
    202,
  ],
  'of a legacy request without a session': [
    message({ id: 1, method: 'tools/list' }),
    'application/json',
    400,
    '2025-11-25',
  ],
  'of a legacy notification without a session': [
    message({ method: 'notifications/progress' }),
    'application/json',
    400,
    '2025-11-25',
  ],
  'of a legacy reply without a session': [
    message({ id: 1, result: {} }),
    'application/json',
    400,
    '2025-11-25',
  ],
}

/** A message with as much in it. */
function message(parts: object): string {
  return JSON.stringify({ jsonrpc: '2.0', ...parts, params: { text: 'x'.repeat(LENGTH) } })
}

const CASES = Object.entries(REFUSED).flatMap(([what, [body, type, status, version]]) => [
  { what, body, type, status, version, isChunked: false },
  { what: `${what}, and does not say how long it is`, body, type, status, version, isChunked: true },
])

for (const { what, status, ...sent } of CASES)
  test(`the memory of a body ${what} is free at once, and waits for no collection`, async t => {
    const { at } = await serveAll(t, { limits: { body: '512KiB' } })
    const url = at('/mcp')
    assert.equal(await post(url, sent), status)

    let most = 0
    for (let n = 0; n < TIMES; n++) {
      const before = process.memoryUsage().arrayBuffers
      await post(url, sent)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }

    assert.ok(most < MIB / 4, `one body left ${(most / 1024).toFixed(0)} KiB behind`)
  })

test('bodies that are refused are read no faster than they may come together, and each sender reads why', async t => {
  const clock = new HandClock()
  const { at } = await serveAll(t, { limits: { body: '512KiB', connections: 999 } }, clock)
  const armed = clock.armed
  const senders = Array.from({ length: 24 }, () => {
    const sender = sending(t, at('/mcp'))
    sender.socket.write(headed(2 * MIB))
    sender.socket.write(' '.repeat(2 * MIB))
    sender.socket.write(`${headed(2)}{}`)
    return sender.answers
  })
  const served = (count: number): number => senders.filter(answers => answers().length >= count).length

  await until(() => served(1) === 24, 'all read that their bodies are too large')
  await until(() => clock.armed - armed >= 24 - served(2), 'the bodies that are left wait')

  assert.ok(served(2) <= 8, `${served(2)} bodies of 2 MiB were read at once, of 16 MiB together`)
  await until(() => {
    clock.pass(5)
    return served(2) === 24
  }, 'all are read in time, and what follows them is answered')
  assert.deepEqual(new Set(senders.map(answers => answers()[0])), new Set(['HTTP/1.1 413']))
})

test('a client for whose body there is no room reads why before it sends it, and nothing that it sends behind it is taken', async t => {
  const limits = { body: '512KiB', heldPerClient: '600KiB' }
  const { at, listener, gate } = await serveAll(t, { limits })
  sending(t, at('/mcp')).socket.write(headed(LENGTH))
  await until(() => listener.held === LENGTH, 'a body takes the room')

  const { socket, answers, text } = sending(t, at('/mcp'))
  socket.write(headed(LENGTH))
  await until(() => answers().length === 1, 'it is answered')
  const { body } = modern('tools/list')
  socket.write(`${' '.repeat(LENGTH)}${headed(body.length)}${body}`)
  await until(() => {
    socket.write(' ')
    return socket.destroyed
  }, 'the connection has ended')

  assert.match(text(), /^HTTP\/1\.1 503 [^]*connection: close\r\n/i)
  assert.equal(answers().length, 1)
  assert.equal(gate.seen.length, 0)
})

test('a client for whose body there is no room reads why before all that has its turn first', async t => {
  const limits = { body: '512KiB', heldPerClient: '600KiB' }
  const { at, listener } = await serveAll(t, { limits })
  sending(t, at('/mcp')).socket.write(headed(LENGTH))
  await until(() => listener.held === LENGTH, 'a body takes the room')
  let left = 20_000
  const work = Array.from({ length: left }, () => ({ ms: 10, run: () => void left-- }))
  cleanup(t, () => work.forEach(one => loopTurns.leave(one)))
  for (const one of work) loopTurns.wait('@127.0.0.1', one)

  const { socket, answers } = sending(t, at('/mcp'))
  socket.write(headed(LENGTH))
  await until(() => answers().length === 1, 'it is answered')

  assert.deepEqual(answers(), ['HTTP/1.1 503'])
  assert.ok(left > 0, 'it has waited for a turn')
})

test('a small body whose values have no room is refused before all that has its turn first', async t => {
  const limits = { body: '512KiB', heldPerClient: '600KiB' }
  const { at, listener } = await serveAll(t, { limits })
  sending(t, at('/mcp')).socket.write(headed(LENGTH))
  await until(() => listener.held === LENGTH, 'a body takes the room')
  let left = 20_000
  const work = Array.from({ length: left }, () => ({ ms: 10, run: () => void left-- }))
  cleanup(t, () => work.forEach(one => loopTurns.leave(one)))
  for (const one of work) loopTurns.wait('@127.0.0.1', one)

  const { socket, answers } = sending(t, at('/mcp'))
  const body =
    message({ id: 1, method: 'ping' }).slice(0, 40) + `,"params":{"list":[${'{},'.repeat(15_000)}{}]}}`
  socket.write(`${headed(body.length)}${body}`)
  await until(() => answers().length === 1, 'it is answered')

  assert.deepEqual(answers(), ['HTTP/1.1 503'])
  assert.ok(left > 0, 'it has waited for a turn')
})

test('of the connections whose refused bodies wait to be read, those of one address that were first end where they are too many', async t => {
  const clock = new HandClock()
  const { at } = await serveAll(t, { limits: { body: '512KiB', connections: 999 } }, clock)
  const senders = Array.from({ length: 400 }, () => {
    const sender = sending(t, at('/mcp'))
    sender.socket.write(headed(2 * MIB))
    sender.socket.write(' '.repeat(128 * 1024))
    return sender
  })
  const ended = (): number => senders.filter(({ socket }) => socket.readableEnded || socket.destroyed).length

  await until(
    () => senders.every(({ answers }) => answers().length === 1),
    'all read that their bodies are too large',
  )
  await until(() => ended() >= 100, 'the first of those that wait have ended')
  await until(() => clock.armed >= LINGERING.each, 'the others wait')

  assert.ok(ended() <= 400 - LINGERING.each, `${ended()} have ended`)
  assert.deepEqual(new Set(senders.map(({ answers }) => answers()[0])), new Set(['HTTP/1.1 413']))
})

test('a body that says that it is longer than all that may be held is too large', async t => {
  const plugin: Plugin = {
    name: 'taker',
    setup: ({ hooks }) =>
      hooks.http.for('/take').tap(async ({ body }) => {
        await body()
        return { status: 200, body: '' }
      }),
  }
  const gateway = await createGateway(
    {
      version: 1,
      listeners: { main: { type: 'http', port: 0, limits: { body: '64KiB', heldPerClient: '128KiB' } } },
      upstreams: {},
    },
    { plugins: [plugin] },
  )
  cleanup(t, () => gateway.close())
  await gateway.start()

  const { socket, answers } = sending(t, new URL(gateway.listeners[0]?.url ?? ''))
  socket.write(headed(LENGTH).replace('/mcp', '/take'))
  await until(() => answers().length === 1, 'it is answered')

  assert.deepEqual(answers(), ['HTTP/1.1 413'])
})

interface Sender {
  readonly socket: Socket
  text(): string
  answers(): readonly string[]
}

/** A connection, and what was answered on it so far. */
function sending(t: TestContext, { hostname, port }: URL): Sender {
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  cleanup(t, () => socket.destroy())
  socket.on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  return { socket, text: () => text, answers: () => text.match(/HTTP\/1\.1 \d+/g) ?? [] }
}

/** Head of a request with a body of so many bytes. */
function headed(length: number): string {
  const { headers } = modern('tools/list')
  const lines = Object.entries({ host: '127.0.0.1', ...headers, 'content-length': length })
  return `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

type Sent = Omit<(typeof CASES)[number], 'what' | 'status'>

/** Posts text as it is, in chunks or with its length, and reads the whole answer; resolves with its status. */
function post(url: URL, { body, type, version, isChunked }: Sent): Promise<number | undefined> {
  const { headers } = modern('tools/list')
  if (version !== undefined) headers['mcp-protocol-version'] = version
  const length = isChunked ? { 'transfer-encoding': 'chunked' } : {}
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { ...headers, ...length, 'content-type': type } },
      response => {
        response.on('end', () => resolve(response.statusCode)).resume()
      },
    )
    sent.on('error', reject).end(body)
  })
}
