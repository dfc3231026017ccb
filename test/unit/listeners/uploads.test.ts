import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { Credentials, HttpReply, HttpRequest, Listener, Principal } from '../../../src/api/index.ts'
import { ANONYMOUS } from '../../../src/plugin.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { reset } from '../../fixtures/reset.ts'
import { until } from '../../fixtures/until.ts'
import { modern } from './http/client.ts'
import { serveAll } from './http/network.ts'

const LARGE = 400 * 1024

/** Bytes of a request as they go out. */
type Upload = (path: string, who: string) => string

function request(path: string, who: string, more: Record<string, string | number>, body: string): string {
  const { headers } = modern('tools/list')
  const all = { host: '127.0.0.1', authorization: who, ...headers, ...more }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

const bodyOf = (length: number): string => modern('tools/list').body.padEnd(length)

const sized =
  (length: number, more: Record<string, string> = {}): Upload =>
  (path, who) =>
    request(path, who, { 'content-length': length, ...more }, bodyOf(length))

const chunked =
  (length: number): Upload =>
  (path, who) => {
    const pieces = bodyOf(length).match(/[^]{1,50000}/g) ?? []
    const chunks = pieces.map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    return request(path, who, { 'transfer-encoding': 'chunked' }, `${chunks.join('')}0\r\n\r\n`)
  }

/** Sends an upload with its length or in chunks, by turns. */
function eitherWay(n: number): Upload {
  return n % 2 === 0 ? sized(LARGE) : chunked(LARGE)
}

interface Server {
  readonly listener: Listener
  open(): Promise<Socket>
}

async function served(t: TestContext): Promise<Server> {
  const { gate, listener, at } = await serveAll(t, {
    limits: { connections: 999, body: '512KiB', held: '128MiB' },
  })
  const authenticate = ({ header }: Credentials): Principal => ({
    ...ANONYMOUS,
    issuer: 'test',
    subject: header('authorization')[0] ?? '',
  })
  const serve = async ({ body }: HttpRequest): Promise<HttpReply> => {
    await body()
    return { status: 200, body: '{}' }
  }
  Object.assign(gate, { authenticate, serve })
  return {
    listener,
    open: async () => {
      const { port, hostname } = at('/')
      const socket = connect(Number(port), hostname)
      cleanup(t, () => socket.destroy())
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    },
  }
}

/** Status of each answer on a connection so far. */
function statuses(socket: Socket): () => number[] {
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  return () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+) /g), ([, code]) => Number(code)).filter(code => code !== 100)
}

/** So many connections to a listener, with the statuses that each was answered. */
async function opened(
  t: TestContext,
  count: number,
): Promise<Pick<Server, 'listener'> & { sockets: Socket[]; answers: (() => number[])[] }> {
  const { listener, open } = await served(t)
  const sockets = await Promise.all(Array.from({ length: count }, open))
  return { listener, sockets, answers: sockets.map(statuses) }
}

test('of uploads that break off in the middle nothing is kept, and others go on', async t => {
  const { listener, sockets, answers } = await opened(t, 30)

  for (const [n, socket] of sockets.entries()) {
    const text = eitherWay(n)('/mcp', `caller ${n % 3}`)
    if (n % 3 !== 0) socket.write(text)
    else if (n % 2 === 0) socket.write(text.slice(0, 300_000), () => reset(socket))
    else socket.end(text.slice(0, 300_000))
  }
  await until(() => answers.every((seen, n) => n % 3 === 0 || seen().length > 0), 'the others are answered')

  for (const [n, seen] of answers.entries()) if (n % 3 !== 0) assert.deepEqual(seen(), [200])
  await until(() => listener.bufferedBytes === 0, 'the memory is given back')
})

test('a listener that stops answers the uploads that have begun', async t => {
  const { listener, sockets, answers } = await opened(t, 10)
  const texts = sockets.map((_, n) => eitherWay(n)('/mcp', `caller ${n % 3}`))
  for (const [n, socket] of sockets.entries()) socket.write((texts[n] as string).slice(0, 200_000))
  await until(() => (listener.bufferedBytes ?? 0) >= 5 * LARGE + 5 * 190_000, 'all have begun')

  const stopped = listener.stop(30_000)
  for (const [n, socket] of sockets.entries()) socket.write((texts[n] as string).slice(200_000))
  await stopped

  assert.equal(listener.bufferedBytes, 0)
  await until(() => sockets.every(socket => socket.destroyed || socket.readableEnded), 'all are closed')
  for (const seen of answers) assert.match(String(seen()), /^(?:200|503)$/)
})
