import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { HttpClient } from '../../../src/net/http-client.ts'
import type { RequestControl, HttpTransport } from '../../../src/net/http-client-types.ts'
import { UndiciClient } from '../../../src/net/undici-client.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { OK, post, RequestLog, serve } from '../fixtures/http-client-kit.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

interface Sizes {
  readonly connections: number
  readonly connectMs: number
}

const ADAPTERS: readonly (readonly [string, (url: URL, sizes: Sizes) => HttpTransport])[] = [
  ['fast client', (url, sizes) => new HttpClient(url, { clock: systemClock, ...sizes })],
  ['client on undici', (url, sizes) => new UndiciClient(url, { ...sizes, http2: false })],
]

function reply(...lines: string[]): string {
  return lines.join('\r\n')
}

const CHUNKED = 'transfer-encoding: chunked'

for (const [name, make] of ADAPTERS) {
  const open = (t: TestContext, url: URL, sizes: Partial<Sizes> = {}): HttpTransport => {
    const made = make(url, { connections: 4, connectMs: 5000, ...sizes })
    cleanup(t, () => made.destroy())
    return made
  }

  describe(`a reply over the ${name}`, () => {
    it('has its status and its headers, the values of one name in a list', async t => {
      const lines = ['HTTP/1.1 503 Busy', 'Retry-After: 7', 'WWW-Authenticate: A', 'www-authenticate: B', 'x-a: b']
      const { url } = await serve(t, () => reply(...lines, 'content-length: 0', '', ''))
      const log = post(open(t, url))
      assert.equal(await log.over.promise, '')
      const { status, headers } = await log.head.promise
      assert.equal(status, 503)
      assert.equal(headers['retry-after'], '7')
      assert.equal(headers['www-authenticate'], 'A, B')
      assert.equal('x-a' in headers, false)
      assert.deepEqual(log.events, ['send', 'head 503', 'end'])
    })

    it('comes as it is sent, a byte at a time or an event at a time', async t => {
      const { url, got } = await serve(t, () =>
        reply('HTTP/1.1 200 OK', 'content-type: text/event-stream', CHUNKED, '', ''),
      )
      const log = post(open(t, url))
      await log.head.promise
      const socket = got[0]?.socket as Socket
      for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
        const heard = new Promise<void>(resolve => (log.onPiece = () => log.body.endsWith(event) && resolve()))
        for (const byte of `${event.length.toString(16)}\r\n${event}\r\n`) socket.write(byte)
        await heard
      }
      socket.write('0\r\n\r\n')
      assert.equal(await log.over.promise, 'data: 1\n\ndata: 2\n\n')
    })

    it('is not unpacked', async t => {
      const packed = gzipSync('hello').toString('latin1')
      const head = ['HTTP/1.1 200 OK', 'content-encoding: gzip', `content-length: ${packed.length}`, '', '']
      const { url, got } = await serve(t, () => reply(...head) + packed)
      const log = post(open(t, url))
      assert.equal(await log.over.promise, packed)
      assert.equal((await log.head.promise).headers['content-encoding'], 'gzip')
      assert.doesNotMatch(got[0]?.text ?? '', /accept-encoding/i)
    })

    for (const [what, text] of [
      ['a head beyond all bounds', reply('HTTP/1.1 200 OK', `a: ${'b'.repeat(20_000)}`, 'content-length: 0', '', '')],
      ['two lengths', reply('HTTP/1.1 200 OK', 'content-length: 2', CHUNKED, '', '0', '', '')],
      ['lengths that differ', reply('HTTP/1.1 200 OK', 'content-length: 2', 'content-length: 3', '', 'abc')],
      ['a space before a colon', reply('HTTP/1.1 200 OK', 'content-length : 2', '', 'ok')],
      ['bare line ends', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
      ['no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ])
      it(`with ${what} fails`, async t => {
        const { url } = await serve(t, () => text)
        assert.equal(await post(open(t, url)).over.promise, 'error MALFORMED')
      })

    it('that breaks off fails, and so does one that never comes', async t => {
      const half = [
        'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal',
        '',
        reply('HTTP/1.1 200 OK', CHUNKED, '', '3', 'abc', ''),
      ]
      const { url, got } = await serve(t, ({ socket }, index) => void socket.end(half[index] ?? ''))
      const http = open(t, url)
      const first = post(http)
      assert.equal(await first.over.promise, 'error SOCKET')
      assert.equal(first.body, 'hal')
      assert.equal(await post(http).over.promise, 'error SOCKET')
      assert.equal(await post(http).over.promise, 'error SOCKET')
      assert.equal(got.length, 3, 'nothing is sent twice')
    })
  })

  describe(`a request over the ${name}`, () => {
    it('is written as it is meant', async t => {
      const { url, got } = await serve(t, () => OK)
      const http = open(t, url)
      await post(http, { headers: { 'x-a': 'b\xe9' }, body: '"é"' }).over.promise
      await post(http, { method: 'GET', path: '/mcp?a=b', body: undefined }).over.promise
      const [head = '', body] = (got[0]?.text ?? '').split('\r\n\r\n')
      assert.match(head, /^POST \/mcp HTTP\/1\.1\r\n/)
      for (const line of [`host: ${url.host}`, 'x-a: b\xe9', 'content-length: 4'])
        assert.ok(head.split('\r\n').includes(line), head)
      assert.equal(body, '"\xc3\xa9"')
      assert.match(got[1]?.text ?? '', /^GET \/mcp\?a=b HTTP\/1\.1\r\n/)
      assert.doesNotMatch(got[1]?.text ?? '', /content-length/)
    })

    for (const [what, request] of [
      ['a header that ends its line', { headers: { 'x-a': 'b\r\nc: d' } }],
      ['a name that is none', { headers: { 'x a': 'b' } }],
      ['a path with a space', { path: '/a b' }],
    ] as const)
      it(`with ${what} is not sent`, async t => {
        const { url, got } = await serve(t, () => OK)
        const http = open(t, url)
        const log = post(http, request)
        assert.equal(await log.over.promise, 'error INVALID_ARG')
        assert.deepEqual(log.events, ['error INVALID_ARG'])
        assert.equal(await post(http).over.promise, 'ok')
        assert.equal(got.length, 1)
      })

    it('to nobody fails without having been sent', async t => {
      const { url } = await serve(t, () => OK)
      const log = post(open(t, new URL(`http://127.0.0.1:1${url.pathname}`)))
      assert.equal(await log.over.promise, 'error ECONNREFUSED')
      assert.deepEqual(log.events, ['error ECONNREFUSED'])
    })

    it('waits while all connections are taken', async t => {
      const { url, got, connections } = await serve(t, () => undefined)
      const http = open(t, url, { connections: 1 })
      const [first, second] = [post(http, { body: 'a' }), post(http, { body: 'b' })]
      await first.sent.promise
      while (got.length === 0) await new Promise(setImmediate)
      got[0]?.socket.write(OK)
      assert.equal(await first.over.promise, 'ok')
      await second.sent.promise
      while (got.length === 1) await new Promise(setImmediate)
      got[1]?.socket.write(OK)
      assert.equal(await second.over.promise, 'ok')
      assert.equal(connections(), 1)
    })

    it('that is given up before it is written leaves the connection to others', async t => {
      const { url, got, connections } = await serve(t, () => OK)
      const http = open(t, url)
      class GivenUp extends RequestLog {
        override onSend(carrier: RequestControl): void {
          super.onSend(carrier)
          carrier.abort(this, new Error('never mind'))
        }
      }
      assert.equal(await post(http).over.promise, 'ok')
      const log = post(http, { body: 'unwanted' }, new GivenUp())
      assert.equal(await log.over.promise, 'error never mind')
      assert.equal(await post(http).over.promise, 'ok')
      assert.deepEqual(log.events, ['send', 'error never mind'])
      assert.equal(
        got.some(({ text }) => text.includes('unwanted')),
        false,
      )
      assert.ok(connections() <= 2)
    })

    it('that is given up ends at once, and nothing more is heard of it', async t => {
      const { url, got } = await serve(t, () => 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')
      const http = open(t, url)
      const log = new RequestLog()
      log.onPiece = carrier => carrier.abort(log, new Error('enough'))
      post(http, {}, log)
      assert.equal(await log.over.promise, 'error enough')
      const { socket } = got[0] as { socket: Socket }
      if (!socket.destroyed) await once(socket, 'close')
      assert.deepEqual(log.events, ['send', 'head 200', 'error enough'])
      ;(await log.sent.promise).abort(log, new Error('once more'))
      assert.equal(log.events.length, 3)
    })

    it('that is given up while it waits for its reply ends its connection, and no other', async t => {
      const { url, got } = await serve(t, ({ text }) => (text.endsWith('slow') ? undefined : OK))
      const http = open(t, url)
      const slow = post(http, { body: 'slow' })
      const carrier = await slow.sent.promise
      while (got.length === 0) await new Promise(setImmediate)
      assert.equal(await post(http).over.promise, 'ok')
      carrier.abort(slow, new Error('enough'))
      assert.equal(await slow.over.promise, 'error enough')
      assert.equal(await post(http).over.promise, 'ok')
    })
  })

  describe(`the ${name}`, () => {
    it('gathers nothing that its handler did not want', async t => {
      let written = 0
      const { url } = await serve(t, ({ socket }) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const more = (): void => {
          while (!socket.destroyed && socket.write('x'.repeat(65_536))) written += 65_536
        }
        socket.on('drain', more)
        more()
        return undefined
      })
      const http = open(t, url)
      const log = new RequestLog()
      log.onPiece = carrier => log.body.length > 1_000_000 && carrier.abort(log, new Error('enough'))
      post(http, {}, log)
      assert.equal(await log.over.promise, 'error enough')
      const before = log.body.length
      await wait(50)
      assert.equal(log.body.length, before)
      assert.ok(Math.max(...log.pieces.map(({ length }) => length)) <= 65_536)
      assert.ok(written < 64_000_000, `${written} bytes were taken`)
    })

    it('that is closed ends what is under way, and takes nothing more', async t => {
      const { url, got } = await serve(t, () => undefined)
      const http = open(t, url)
      const last = post(http)
      await last.sent.promise
      while (got.length === 0) await new Promise(setImmediate)
      const closed = http.close()
      assert.equal(await post(http).over.promise, 'error DESTROYED')
      got[0]?.socket.write(OK)
      assert.equal(await last.over.promise, 'ok')
      await closed
    })

    it('that is destroyed fails what is under way and what waits', async t => {
      const { url, got } = await serve(t, () => 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')
      const http = open(t, url, { connections: 1 })
      const [first, second] = [post(http), post(http)]
      await first.head.promise
      await http.destroy()
      assert.equal(await first.over.promise, 'error DESTROYED')
      assert.equal(await second.over.promise, 'error DESTROYED')
      assert.equal(await post(http).over.promise, 'error DESTROYED')
      assert.equal(got.length, 1)
    })
  })
}
