import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { HttpClient } from '../../../src/http-client/http-client.ts'
import type { HttpTransport } from '../../../src/http-client/port.ts'
import { UndiciClient } from '../../../src/http-client/undici-client.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { OK, post, RequestLog, serve } from '../fixtures/http-client-kit.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const SIZES = { connections: 4, connectMs: 5000 }
const ADAPTERS: readonly (readonly [string, (url: URL) => HttpTransport])[] = [
  ['fast client', url => new HttpClient(url, { clock: systemClock, ...SIZES })],
  ['client on undici', url => new UndiciClient(url, { ...SIZES, http2: false })],
]

/** More than systems keep for a connection that nobody reads. */
const LARGE = 64 * 1024 * 1024

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(10)
}

/** Waits for the end of a request, and until its connection is free again. */
async function ended(log: RequestLog): Promise<string> {
  const said = await log.over.promise
  await new Promise(setImmediate)
  return said
}

/** A server that takes bodies of any length. */
async function takeBodies(
  t: TestContext,
): Promise<{ url: URL; received: { headers: IncomingHttpHeaders; bytes: Buffer }[] }> {
  const received: { headers: IncomingHttpHeaders; bytes: Buffer }[] = []
  const server = createHttpServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('error', () => undefined)
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      received.push({ headers: request.headers, bytes: Buffer.concat(pieces) })
      response.end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), received }
}

for (const [name, make] of ADAPTERS) {
  const open = (t: TestContext, url: URL): HttpTransport => {
    const made = make(url)
    cleanup(t, () => made.destroy())
    return made
  }

  describe(`a request that is handed on over the ${name}`, () => {
    it('has lines as they stand, with a host of their own', async t => {
      const { url, got } = await serve(t, () => OK)
      const lines = ['Host', 'other.example', 'X-A', 'one', 'x-a', 'two']
      await post(open(t, url), { lines, headers: { 'x-b': 'three' } }).over.promise
      const [head = ''] = (got[0]?.text ?? '').split('\r\n\r\n')
      const said = head.split('\r\n').map(line => line.toLowerCase())
      for (const line of ['host: other.example', 'x-a: one', 'x-a: two', 'x-b: three'])
        assert.equal(said.filter(one => one === line).length, 1, head)
      assert.equal(said.filter(line => line.startsWith('host:')).length, 1)
    })

    for (const length of [undefined, 3_000_000])
      it(`takes its body from a stream ${length === undefined ? 'of any length' : 'that says how long it is'}`, async t => {
        const { url, received } = await takeBodies(t)
        const http = open(t, url)
        for (let turn = 0; turn < 2; turn++) {
          const from = Readable.from(Array.from({ length: 30 }, (_, n) => Buffer.alloc(100_000, n + 65)))
          assert.equal(await ended(post(http, { body: undefined, stream: { from, length } })), 'ok')
        }
        for (const { headers, bytes } of received) {
          assert.equal(bytes.length, 3_000_000)
          assert.ok(bytes.every((byte, at) => byte === 65 + Math.floor(at / 100_000)))
          assert.equal(headers['content-length'], length === undefined ? undefined : '3000000')
        }
        assert.equal(received.length, 2)
      })

    it('reads nothing of a stream before it has a connection, and no more of it than is taken', async t => {
      const taken = Promise.withResolvers<Socket>()
      const server = createServer(socket => taken.resolve(socket.pause()))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      cleanup(t, () => server.close())
      const { port } = server.address() as AddressInfo
      let read = 0
      const source = (): Readable =>
        new Readable({
          read() {
            if (read >= LARGE) return void this.push(null)
            read += 65_536
            this.push(Buffer.alloc(65_536))
          },
        })
      const nobody = post(open(t, new URL('http://127.0.0.1:1/')), {
        body: undefined,
        stream: { from: source(), length: LARGE },
      })
      assert.match(await nobody.over.promise, /^error/)
      assert.equal(read, 0)

      const log = post(open(t, new URL(`http://127.0.0.1:${port}/`)), {
        body: undefined,
        stream: { from: source(), length: LARGE },
      })
      const socket = await taken.promise
      cleanup(t, () => socket.destroy())
      for (let before = -1; before !== read; await wait(200)) before = read
      assert.ok(read < LARGE, `${read} bytes were read for a server that takes nothing`)
      socket.on('data', () => undefined).resume()
      await until(() => read >= LARGE)
      socket.write(OK)
      assert.equal(await log.over.promise, 'ok')
    })

    for (const [what, pieces] of [
      ['shorter', ['abc']],
      ['longer', ['abc', 'defg']],
    ] as const)
      it(`whose stream is ${what} than it says fails`, async t => {
        const { url } = await takeBodies(t)
        const from = Readable.from(pieces.map(piece => Buffer.from(piece)))
        assert.match(
          await post(open(t, url), { body: undefined, stream: { from, length: 5 } }).over.promise,
          /^error/,
        )
      })
  })

  describe(`a reply that is handed on from the ${name}`, () => {
    it('has all its headers for whoever hands it on', async t => {
      const { url } = await serve(
        t,
        () => 'HTTP/1.1 200 OK\r\nX-A: b\r\nx-a:  c \r\ncontent-length: 2\r\n\r\nok',
      )
      const log = new RequestLog()
      const heard: string[][] = []
      const onLines = (lines: readonly string[]): void =>
        void heard.push(lines.map(text => text.toLowerCase()))
      post(open(t, url), {}, Object.assign(log, { onLines }))
      assert.equal(await log.over.promise, 'ok')
      assert.deepEqual(heard, [['x-a', 'b', 'x-a', 'c', 'content-length', '2']])
    })
  })
}
