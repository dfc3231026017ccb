import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { HttpReply } from '../../../src/api/index.ts'
import { result } from './http/fake-gate.ts'
import { initialize, legacy, modern, openStream, send, serve } from './http/client.ts'
import { serveAll, talk } from './http/network.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

const MIB = 1024 * 1024
/** More than the system takes for a reader that does not read. */
const LARGE = { text: 'x'.repeat(12 * MIB) }

/** A connection that sends and never reads. */
async function deaf(t: TestContext, url: URL, text: string): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  cleanup(t, () => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  socket.write(text)
  return socket
}

function post({ headers, body }: ReturnType<typeof modern>, path = '/mcp'): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers, 'content-length': Buffer.byteLength(body) })
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

/** Answers one request in JSON that nobody reads. */
const large = { answering: (): ReturnType<typeof result> => result(LARGE) }

for (const [what, text] of [
  ['a JSON answer', post(modern('tools/list'))],
  [
    'an answer on an event stream',
    post({
      ...modern('tools/list'),
      headers: { ...modern('tools/list').headers, accept: 'text/event-stream' },
    }),
  ],
  ['what a plugin serves', 'GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'],
] as const)
  test(`a client that does not read ${what} is cut after limits.unread`, async t => {
    const clock = new HandClock()
    const { gate, url } = await serve(t, { limits: { unread: '10s' } }, clock)
    let served = 0
    Object.assign(gate, large, {
      serve: (): Promise<HttpReply> => {
        served++
        return Promise.resolve({ status: 200, body: LARGE.text })
      },
    })
    const socket = await deaf(t, url, text)
    const closed = once(socket, 'close')
    await until(() => gate.seen.length + served > 0, 'it was asked')
    // The answer goes out within a few turns of the loop.
    await new Promise(resolve => setTimeout(resolve, 300))

    clock.pass(15_000)
    await new Promise(resolve => setTimeout(resolve, 20))
    socket.resume()

    await closed
    assert.ok(socket.bytesRead < LARGE.text.length, 'it did not get the whole of it')
  })

test('a client that reads slowly, and does read, gets the whole answer', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, { limits: { unread: '10s' } }, clock)
  Object.assign(gate, large)
  const socket = await deaf(t, url, post(modern('tools/list')))
  let length = 0
  socket.on('data', (chunk: Buffer) => (length += chunk.length))

  while (length < LARGE.text.length) {
    socket.resume()
    await once(socket, 'data')
    socket.pause()
    clock.pass(100)
    await new Promise(resolve => setImmediate(resolve))
  }

  assert.ok(length > LARGE.text.length)
})

test('where more is held than may be, requests are refused until readers have gone', async t => {
  const { gate, listener, url } = await serve(t, { limits: { held: '16MiB' } })
  Object.assign(gate, large)
  const sockets = [await deaf(t, url, post(modern('tools/list'))), await deaf(t, url, post(modern('tools/list')))]
  await until(() => (listener.bufferedBytes ?? 0) > 16 * MIB, 'too much is held')

  const refused = await send(url, modern('tools/list'))
  for (const socket of sockets) socket.destroy()
  await until(() => listener.bufferedBytes === 0, 'the readers have gone')

  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '2'])
  assert.equal(gate.seen.length, 2)
})

test('request bodies have a bound together, and small ones still come through', async t => {
  const { gate, url } = await serve(t, { limits: { held: '16MiB' } })
  const body = 'x'.repeat(4 * MIB)
  const head = post({ headers: modern('tools/call').headers, body }).split('\r\n\r\n', 1)[0] ?? ''
  const answers: string[] = []
  for (let i = 0; i < 6; i++) {
    const socket = await deaf(t, url, `${head}\r\n\r\n${body.slice(1)}`)
    socket.on('data', (chunk: Buffer) => answers.push(String(chunk)))
    socket.resume()
  }
  await until(() => answers.length >= 4, 'those without room are refused')

  const small = await send(url, modern('echo/x', { arguments: { text: 'y'.repeat(1000) } }))

  for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 503 [^]*retry-after: 2\r\n/i)
  assert.equal(small.status, 200)
  assert.equal(gate.seen.length, 1)
})

test('a body that says it is longer than there is room for is refused before it comes', async t => {
  const { url } = await serve(t, { limits: { held: '2MiB' } })
  const { headers } = modern('echo/x')
  const head = post({ headers, body: 'x'.repeat(2 * MIB) }).split('\r\n\r\n', 1)[0] ?? ''
  const socket = await deaf(t, url, `${head}\r\n\r\n`)

  socket.resume()
  const [answer] = (await once(socket, 'data')) as [Buffer]

  assert.match(String(answer), /^HTTP\/1\.1 503 /)
})

test('a burst of more than 1 MiB does not cut a client that reads', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const next = gate.next('slow/burst')
  const opened = openStream(url, legacy(session, { id: 1, method: 'slow/burst' }))
  const seen = await next

  for (let i = 0; i < 300; i++) seen.emit('notifications/progress', { progress: i, message: 'x'.repeat(64 * 1024) })
  seen.resolve(result({ done: true }))

  const stream = await opened
  let last = await stream.next()
  for (let more = last; more !== undefined; more = await stream.next()) last = more
  assert.deepEqual(last?.result, { done: true })
})

test('a burst of answers on a WebSocket does not cut a client that reads', async t => {
  const { gate, at } = await serveAll(t)
  gate.answering = ({ inbound }) => (inbound.method === 'many' ? result({ text: 'x'.repeat(2 * MIB) }) : result({}))
  const client = await talk(at('/ws'))

  for (let id = 0; id < 8; id++) client.send({ id, method: 'many' })

  for (let id = 0; id < 8; id++) assert.equal((await client.next())?.id, id)
})
