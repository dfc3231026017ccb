import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import * as tls from 'node:tls'
import type { Clock } from '../../../src/api/index.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { client, OK, send, serve } from '../fixtures/http-client-kit.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

describe('a connection', () => {
  it('on which something comes that nobody asked for is not used again', async t => {
    const { url, got, connections } = await serve(t, () => OK)
    const http = client(t, url)
    assert.equal(await send(http).over, '200 ok')
    const closed = once(got[0]?.socket as Socket, 'close')
    got[0]?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')
    await closed
    assert.equal(await send(http).over, '200 ok')
    assert.equal(connections(), 2)
  })

  it('that has been idle for long is not used again', async t => {
    let now = 0
    const clock = { now: () => now, after: systemClock.after }
    const { url, connections } = await serve(t, () => OK)
    const http = client(t, url, 4, clock)
    await send(http).over
    now = 3999
    await send(http).over
    assert.equal(connections(), 1)
    now += 4001
    await send(http).over
    assert.equal(connections(), 2)
  })

  it('over TLS is made with a certificate that holds', async t => {
    const pem = (name: string): string =>
      readFileSync(new URL(`../fixtures/tls/localhost-${name}.pem`, import.meta.url), 'utf8')
    const secure = { cert: pem('cert'), key: pem('key'), ALPNProtocols: ['http/1.1'] }
    const { url, got } = await serve(
      t,
      () => OK,
      each => tls.createServer(secure, each),
    )
    const https = new URL(`https://localhost:${url.port}/mcp`)
    assert.match(await send(client(t, https)).over, /SELF_SIGNED/)
    const known = tls.getCACertificates('default')
    cleanup(t, () => tls.setDefaultCACertificates(known))
    tls.setDefaultCACertificates([secure.cert])
    const http = client(t, https)
    assert.equal(await send(http).over, '200 ok')
    assert.equal(await send(http).over, '200 ok')
    assert.equal(got[0]?.connection, got[1]?.connection)
  })
})

describe('requests', () => {
  it('fail when no connection comes about in time', async t => {
    const { url } = await serve(t, () => OK)
    const clock: Clock = {
      now: () => 0,
      after: (_ms, callback) => {
        queueMicrotask(callback)
        return () => undefined
      },
    }
    assert.equal(await send(client(t, url, 4, clock)).over, 'CONNECT_TIMEOUT')
  })
})
