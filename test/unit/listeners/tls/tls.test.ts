import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { createKey } from '../../../../src/cli/scaffold.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'
import { authority } from '../../fixtures/certificates.ts'
import { callOf, secureFetch } from './secure-client.ts'

const servers = authority('Servers CA')
const clients = authority('Clients CA')
const others = authority('Others CA')
const { cert: ca } = servers

interface Served extends TestGateway {
  readonly directory: string
  readonly tls: JsonObject
  config(more?: JsonObject): JsonObject
}

/** A gateway whose listener speaks HTTPS, with every road that a listener has. */
async function serve(t: TestContext, tlsMore: JsonObject = {}, more: JsonObject = {}): Promise<Served> {
  const first = servers.certify('first')
  const directory = directoryWith(t, {
    'cert.pem': first.cert,
    'key.pem': first.key,
    'clients.pem': clients.cert,
  })
  const db = closeAfter(
    t,
    await testUpstream({ tools: { read: () => 'rows', who: (_, { headers }) => String(headers.x) } }),
  )
  const tls = { cert: 'cert.pem', key: 'key.pem', ...tlsMore }
  const config = (own: JsonObject = {}): JsonObject => ({
    listeners: { main: { type: 'http', port: 0, tls, sse: {}, ws: {} } },
    upstreams: { db: { type: 'http', url: db.url } },
    shutdown: { grace: 100 },
    rest: {},
    metrics: {},
    ...more,
    ...own,
  })
  const gateway = closeAfter(t, await testGateway({ config: config(), directory }))
  return { ...gateway, directory, tls, config }
}

describe('a listener with a certificate', () => {
  test('serves every road over TLS, and says so in its URL', async t => {
    const { url } = await serve(t)
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+\/mcp$/)
    assert.match((await secureFetch(url, { ca, ...callOf('db__read') })).text, /rows/)
    assert.match((await secureFetch(new URL('/metrics', url), { ca })).text, /tapgate_/)
    assert.equal((await secureFetch(new URL('/livez', url), { ca })).status, 200)
    const rest = await secureFetch(new URL('/tools/call', url), {
      ca,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'db__read', arguments: {} }),
    })
    assert.match(rest.text, /rows/)
    const events = await secureFetch(new URL('/sse', url), {
      ca,
      headers: { accept: 'text/event-stream' },
      headOnly: true,
    })
    assert.match(events.text, /event: endpoint/)
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca })
    await once(socket, 'open')
    socket.close()
  })

  test('says nothing to who speaks plain HTTP, and stops at once though a handshake hangs', async t => {
    const { url, gateway } = await serve(t)
    await assert.rejects(fetch(url.replace('https', 'http')))
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    cleanup(t, () => silent.destroy())
    await once(silent, 'connect')
    const closed = once(silent, 'close')
    await gateway.close()
    await closed
  })

  test('shows the renewed one after a reload, without losing who is connected', async t => {
    const { url, gateway, directory, config } = await serve(t)
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca })
    cleanup(t, () => socket.terminate())
    await once(socket, 'open')
    assert.equal((await secureFetch(url, { ca })).server, 'first')
    const second = servers.certify('second')
    writeFileSync(join(directory, 'cert.pem'), second.cert)
    writeFileSync(join(directory, 'key.pem'), second.key)
    await gateway.reload(config())
    assert.equal((await secureFetch(url, { ca })).server, 'second')
    assert.equal(socket.readyState, WebSocket.OPEN)
  })

  test('keeps the old one where the new one is broken, and the reload says why', async t => {
    const { url, gateway, directory, config } = await serve(t)
    writeFileSync(join(directory, 'cert.pem'), servers.certify('second').cert)
    await assert.rejects(gateway.reload(config()), { code: 'GW_CONFIG_INVALID' })
    assert.equal((await secureFetch(url, { ca })).server, 'first')
  })
})

describe('a listener that asks for certificates', () => {
  const certificates = [{ issuer: 'CN=Clients CA', subjects: 'CN=ci-*', scopes: ['db'] }]
  const ci = clients.certify('ci-1')

  test('gives no connection to who has none, or one of somebody else', async t => {
    const { url } = await serve(t, { clientCa: 'clients.pem' }, { auth: { certificates } })
    for (const client of [undefined, others.certify('ci-1'), servers.certify('ci-1')])
      await assert.rejects(secureFetch(url, { ca, client, ...callOf('db__read') }))
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca })
    const [error] = (await once(socket, 'error')) as [Error]
    assert.ok(error instanceof Error)
  })

  test('knows callers by issuer and subject, and rules hold for them', async t => {
    const rules = [
      { tools: 'db__read', scopes: ['db'] },
      { tools: 'db__who', principals: ['CN=Clients CA CN=ci-2'] },
    ]
    const { url } = await serve(t, { clientCa: 'clients.pem' }, { auth: { certificates, rules } })
    const second = clients.certify('ci-2')
    const text = async (name: string, client = ci): Promise<string> =>
      (await secureFetch(url, { ca, client, ...callOf(name) })).text
    assert.match(await text('db__read'), /rows/)
    assert.match(await text('db__who'), /Unknown tool/)
    assert.match(await text('db__who', second), /undefined/)
    const stranger = await secureFetch(url, { ca, client: clients.certify('dev'), ...callOf('db__read') })
    assert.equal(stranger.status, 401)
    const elsewhere = { certificates: [{ issuer: 'CN=Another CA', subjects: 'CN=ci-*' }] }
    const other = await serve(t, { clientCa: 'clients.pem' }, { auth: elsewhere })
    assert.equal((await secureFetch(other.url, { ca, client: ci, ...callOf('db__read') })).status, 401)
    assert.equal((await secureFetch(new URL('/metrics', url), { ca, client: ci })).status, 200)
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca, ...ci })
    await once(socket, 'open')
    socket.close()
  })

  test('refuses a certificate that has run out', async t => {
    const { url } = await serve(t, { clientCa: 'clients.pem' }, { auth: { certificates } })
    const old = clients.certify('ci-1', new Date(Date.now() - 60_000))
    await assert.rejects(secureFetch(url, { ca, client: old, ...callOf('db__read') }))
  })

  test('that is optional takes a key instead, which counts where both are shown', async t => {
    const key = createKey('boss', [])
    const auth = {
      certificates,
      keys: [{ name: 'boss', hash: key.hash }],
      rules: [{ tools: 'db__read', principals: ['boss'] }],
    }
    const { url } = await serve(t, { clientCa: 'clients.pem', clientCert: 'optional' }, { auth })
    const bearer = { authorization: `Bearer ${key.key}` }
    assert.match((await secureFetch(url, { ca, ...callOf('db__read', bearer) })).text, /rows/)
    assert.match((await secureFetch(url, { ca, client: ci, ...callOf('db__read', bearer) })).text, /rows/)
    assert.match((await secureFetch(url, { ca, client: ci, ...callOf('db__read') })).text, /Unknown tool/)
    assert.equal((await secureFetch(url, { ca, ...callOf('db__read') })).status, 401)
    const wrong = { authorization: 'Bearer wrong' }
    assert.equal((await secureFetch(url, { ca, client: ci, ...callOf('db__read', wrong) })).status, 401)
    const forged = await secureFetch(url, { ca, client: others.certify('ci-1'), ...callOf('db__read') })
    assert.equal(forged.status, 401)
    const claims = { 'x-client-cert': ci.cert.replaceAll('\n', ''), 'x-ssl-client-s-dn': 'CN=ci-1' }
    assert.equal((await secureFetch(url, { ca, ...callOf('db__read', claims) })).status, 401)
  })

  test('ends what it had let in when it trusts another authority', async t => {
    const { url, gateway, directory, config } = await serve(t, { clientCa: 'clients.pem' }, { auth: { certificates } })
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca, ...ci })
    cleanup(t, () => socket.terminate())
    await once(socket, 'open')
    const closed = once(socket, 'close')
    writeFileSync(join(directory, 'clients.pem'), others.cert)
    await gateway.reload(config())
    await closed
    const [{ url: now = '' } = {}] = gateway.listeners
    await assert.rejects(secureFetch(now, { ca, client: ci, ...callOf('db__read') }))
  })

  test('ends what a caller had opened whose entry is taken back', async t => {
    const { url, gateway, config } = await serve(t, { clientCa: 'clients.pem' }, { auth: { certificates } })
    const socket = new WebSocket(url.replace(/^https(.*)\/mcp$/, 'wss$1/ws'), ['mcp'], { ca, ...ci })
    cleanup(t, () => socket.terminate())
    await once(socket, 'open')
    const closed = once(socket, 'close')
    await gateway.reload(config({ auth: { certificates: [{ issuer: 'CN=Clients CA', subjects: 'CN=x' }] } }))
    await closed
  })
})

test('certificates that say who somebody is need a listener that asks for them', async t => {
  await assert.rejects(serve(t, {}, { auth: { certificates: [{ issuer: 'CN=x' }] } }), (error: Error) => {
    assert.match(JSON.stringify(error), /no listener requests client certificates/)
    return true
  })
})

describe('behind a proxy', () => {
  test('the public URL is accepted as Host and Origin', async t => {
    const listeners = { main: { type: 'http', port: 0, publicUrl: 'https://Gateway.Example/tools/' } }
    const gateway = closeAfter(t, await testGateway({ config: { listeners } }))
    const { port } = new URL(gateway.url)
    const status = (host: string, origin: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', reject)
        socket.on('data', data => {
          socket.destroy()
          resolve(data.toString().split(' ')[1] ?? '')
        })
        socket.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n\r\n`)
      })
    assert.equal(await status('gateway.example', 'https://gateway.example'), '200')
    assert.equal(await status('evil.example', 'https://gateway.example'), '403')
    assert.equal(await status('gateway.example', 'https://evil.example'), '403')
  })
})
