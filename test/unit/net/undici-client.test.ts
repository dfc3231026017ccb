import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { UndiciClient, type UndiciClientOptions } from '../../../src/net/undici-client.ts'
import { authority } from '../fixtures/certificates.ts'
import { send } from '../fixtures/http-client-kit.ts'
import { startProxy } from '../fixtures/proxy.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { listenOn } from '../../fixtures/listen.ts'

const ours = authority()
const { cert: ca } = ours
const server = ours.certify('server')

function client(t: TestContext, url: URL, options: Partial<UndiciClientOptions> = {}): UndiciClient {
  const made = new UndiciClient(url, { connections: 4, connectMs: 2000, http2: false, ...options })
  cleanup(t, () => made.destroy())
  return made
}

interface Secure {
  readonly http2?: boolean
  /** The authority of the certificates that clients must have. */
  readonly wants?: string
  readonly answer?: (request: Http2ServerRequest, response: Http2ServerResponse) => void
}

/** A server over TLS, of one version of HTTP or both; `seen` says who came, and in which version. */
async function secureServer(
  t: TestContext,
  { http2 = true, wants, answer }: Secure = {},
): Promise<{ url: URL; seen: string[]; connections: () => number }> {
  const seen: string[] = []
  let count = 0
  const tls = wants === undefined ? server : { ...server, ca: wants, requestCert: true }
  const made = http2 ? createSecureServer({ ...tls, allowHTTP1: true }) : createHttpsServer(tls)
  made.on('secureConnection', () => count++)
  made.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const peer = (request.socket as TLSSocket).getPeerCertificate()
    seen.push(`${request.httpVersion} ${String(peer.subject?.CN ?? 'nobody')}`)
    if (answer === undefined) request.resume().on('end', () => void response.end('ok'))
    else answer(request, response)
  })
  made.on('sessionError', () => undefined)
  const port = await listenOn(t, made)
  return { url: new URL(`https://localhost:${port}/mcp`), seen, connections: () => count }
}

describe('TLS', () => {
  it('trusts the authorities that are named, and no others', async t => {
    const { url, seen } = await secureServer(t)
    assert.equal(await send(client(t, url, { tls: { ca } })).over, '200 ok')
    assert.match(await send(client(t, url)).over, /UNABLE_TO|SELF_SIGNED/)
    assert.match(await send(client(t, url, { tls: { ca: authority('else').cert } })).over, /UNABLE_TO|SELF_SIGNED/)
    assert.deepEqual(seen, ['1.1 nobody'])
  })

  it('shows a certificate to servers that want one', async t => {
    const { url, seen } = await secureServer(t, { wants: ca })
    const mine = ours.certify('gateway')
    const strange = authority('else').certify('stranger')
    assert.equal(await send(client(t, url, { tls: { ca, ...mine } })).over, '200 ok')
    assert.notEqual(await send(client(t, url, { tls: { ca } })).over, '200 ok')
    assert.notEqual(await send(client(t, url, { tls: { ca, ...strange } })).over, '200 ok')
    assert.deepEqual(seen, ['1.1 gateway'])
  })

  it('with a file that is no certificate fails before anything is connected', async t => {
    const { url, connections } = await secureServer(t)
    const http = client(t, url, { tls: { ca, cert: 'none', key: 'none' } })
    assert.match(await send(http).over, /PEM/)
    assert.match(await send(http).over, /PEM/)
    assert.equal(connections(), 0)
  })
})

describe('HTTP/2', () => {
  it('carries requests side by side on one connection', async t => {
    const waiting: Http2ServerResponse[] = []
    const answer: Secure['answer'] = (request, response) =>
      void request.resume().on('end', () => {
        waiting.push(response)
        if (waiting.length === 3) for (const each of waiting) each.end('all here')
      })
    const { url, seen, connections } = await secureServer(t, { answer })
    const http = client(t, url, { tls: { ca }, http2: true })
    const all = [send(http), send(http), send(http)]
    assert.deepEqual(await Promise.all(all.map(({ over }) => over)), Array(3).fill('200 all here'))
    assert.deepEqual(seen, Array(3).fill('2.0 nobody'))
    assert.equal(connections(), 1)
  })

  it('gives way to HTTP/1.1 where a server has nothing else, and is not offered unasked', async t => {
    const old = await secureServer(t, { http2: false })
    const both = await secureServer(t)
    assert.equal(await send(client(t, old.url, { tls: { ca }, http2: true })).over, '200 ok')
    assert.equal(await send(client(t, both.url, { tls: { ca } })).over, '200 ok')
    assert.deepEqual([old.seen, both.seen], [['1.1 nobody'], ['1.1 nobody']])
  })
})

describe('a proxy', () => {
  it('opens tunnels for HTTP/2 and for certificates of our own', async t => {
    const { url, seen } = await secureServer(t, { wants: ca })
    const proxy = await startProxy(t)
    const http = client(t, url, { proxy: proxy.url, tls: { ca, ...ours.certify('gateway') }, http2: true })
    assert.equal(await send(http).over, '200 ok')
    assert.deepEqual(seen, ['2.0 gateway'])
  })

  it('that cannot reach the server, is not there, or says nothing, fails the request before it is sent', async t => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    const { url } = await secureServer(t)
    const proxy = await startProxy(t)
    const silent = await startProxy(t, { isSilent: true })
    const nowhere = new URL(`https://localhost:${port}/mcp`)
    for (const [to, through] of [
      [nowhere, proxy.url],
      [url, `http://127.0.0.1:${port}`],
      [url, silent.url],
    ] as const) {
      const heard = send(client(t, to, { proxy: through, tls: { ca }, connectMs: 500 }))
      let wasSent = false
      void heard.sent.then(() => (wasSent = true))
      assert.match(await heard.over, /^(PROXY|ECONNREFUSED)$/)
      assert.equal(wasSent, false)
    }
  })

  it('may be reached over TLS itself', async t => {
    const { url } = await secureServer(t)
    const proxy = await startProxy(t, { secure: ours.certify('proxy') })
    const through = proxy.url.replace('127.0.0.1', 'localhost')
    assert.equal(await send(client(t, url, { proxy: through, tls: { ca } })).over, '200 ok')
    assert.deepEqual(proxy.seen, [`CONNECT ${url.host}`])
  })
})
