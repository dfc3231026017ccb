import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createPlain } from 'node:http'
import { createServer as createSecure, type ServerOptions } from 'node:https'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { TLSSocket } from 'node:tls'
import { WebSocketServer } from 'ws'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, type TestGateway } from '../../../../src/testing/index.ts'
import { findProxy } from '../../../../src/net/proxy.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'
import { authority } from '../../fixtures/certificates.ts'
import { startProxy } from '../../fixtures/proxy.ts'
import { answerTo, type Said } from './network-upstream.ts'
import { listenOn } from '../../../fixtures/listen.ts'

const ours = authority()
const { cert: ca } = ours

describe('the proxy that the environment names', () => {
  const all = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'plain:2' }
  for (const [url, environment, proxy] of [
    ['https://a.example/', all, 'http://secure:1'],
    ['http://a.example/', all, 'http://plain:2'],
    ['https://a.example/', { ...all, https_proxy: 'http://small:3' }, 'http://small:3'],
    ['https://a.example/', {}, undefined],
    ['https://a.example/', { HTTPS_PROXY: ' ' }, undefined],
    ['https://a.example/', { HTTPS_PROXY: 'socks5://s:1' }, undefined],
    ['https://localhost/', all, undefined],
    ['https://127.0.0.1:8443/', all, undefined],
    ['https://[::1]/', all, undefined],
    ['https://a.example/', { ...all, NO_PROXY: '*' }, undefined],
    ['https://a.example/', { ...all, NO_PROXY: 'b.example, a.example' }, undefined],
    ['https://x.a.example/', { ...all, NO_PROXY: 'a.example' }, undefined],
    ['https://x.a.example/', { ...all, no_proxy: '.A.example' }, undefined],
    ['https://xa.example/', { ...all, NO_PROXY: 'a.example' }, 'http://secure:1'],
    ['https://a.example/', { ...all, NO_PROXY: 'a.example:8443' }, 'http://secure:1'],
    ['https://a.example/', { ...all, NO_PROXY: 'a.example:443' }, undefined],
    ['https://10.1.2.3/', { ...all, NO_PROXY: '10.0.0.0/8' }, undefined],
    ['https://11.1.2.3/', { ...all, NO_PROXY: '10.0.0.0/8, 11.0.0.0/99' }, 'http://secure:1'],
    ['https://[fd00::1]/', { ...all, NO_PROXY: 'fd00::/8' }, undefined],
    ['https://[fe80::1]/', { ...all, NO_PROXY: 'fe80::1' }, undefined],
  ] as const)
    it(`for ${url} with ${JSON.stringify(environment)} is ${proxy ?? 'none'}`, () =>
      assert.equal(findProxy(new URL(url), environment), proxy))
})

interface Server {
  readonly url: string
  /** Names of the certificates that came, or nobody. */
  readonly callers: string[]
}

const TOOLS = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }

/** A server of Streamable HTTP, over TLS where it has a certificate. */
async function mcpServer(t: TestContext, tls?: ServerOptions): Promise<Server> {
  const callers: string[] = []
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let text = ''
    request.on('data', (bytes: Buffer) => (text += bytes.toString()))
    request.on('end', () => {
      const said = JSON.parse(text) as Said
      if (said.method === 'tools/call') callers.push(callerOf(request))
      const list = { jsonrpc: '2.0', id: said.id, result: TOOLS }
      const answer = said.method === 'tools/list' ? JSON.stringify(list) : answerTo(said)
      if (answer === undefined) response.writeHead(202).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
  }
  const server = tls === undefined ? createPlain(listener) : createSecure(tls, listener)
  const port = await listenOn(t, server)
  return { url: `${tls === undefined ? 'http' : 'https'}://localhost:${port}/mcp`, callers }
}

/** Owner of the certificate that a request came with. */
function callerOf({ socket }: IncomingMessage): string {
  return socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN ?? 'nobody') : 'nobody'
}

/** All that a tool says through a gateway with this upstream. */
async function called(t: TestContext, gateway: TestGateway): Promise<string> {
  const client = closeAfter(t, await testClient(gateway))
  return JSON.stringify(await client.request('tools/call', { name: 'web__echo', arguments: {} }))
}

function gatewayOf(t: TestContext, web: JsonObject, directory: string): Promise<TestGateway> {
  return testGateway({ config: { upstreams: { web } }, directory }).then(made => closeAfter(t, made))
}

async function stateOf({ gateway }: TestGateway): Promise<string> {
  return JSON.stringify(await gateway.control('ps', {}))
}

describe('an upstream', () => {
  it('is reached with a certificate of its own, and with another one after a reload', async t => {
    const first = ours.certify('first')
    const directory = directoryWith(t, { 'ca.pem': ca, 'cert.pem': first.cert, 'key.pem': first.key })
    const server = await mcpServer(t, { ...ours.certify('server'), ca, requestCert: true })
    const tls = { ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' }
    const web = { type: 'http', url: server.url, tls }
    const made = await gatewayOf(t, web, directory)
    assert.match(await called(t, made), /tools\/call/)

    const listener = { main: { type: 'http', port: 0 } }
    await made.gateway.reload({ listeners: listener, upstreams: { web } })
    assert.match(await called(t, made), /tools\/call/)
    const second = ours.certify('second')
    writeFileSync(join(directory, 'cert.pem'), second.cert)
    writeFileSync(join(directory, 'key.pem'), second.key)
    await made.gateway.reload({ listeners: listener, upstreams: { web } })
    assert.match(await called(t, made), /tools\/call/)

    assert.deepEqual(server.callers, ['first', 'first', 'second'])
  })

  it('goes through its proxy, whose password nobody sees', async t => {
    const server = await mcpServer(t, ours.certify('server'))
    const plain = await mcpServer(t)
    const proxy = await startProxy(t, { credentials: 'gate:t0p-secret' })
    const through = proxy.url.replace('//', '//gate:t0p-secret@')
    const directory = directoryWith(t, { 'ca.pem': ca })
    const secure = { type: 'http', url: server.url, proxy: through, tls: { ca: 'ca.pem' } }
    const made = await gatewayOf(t, secure, directory)
    assert.match(await called(t, made), /tools\/call/)
    assert.match(
      await called(t, await gatewayOf(t, { type: 'http', url: plain.url, proxy: through }, directory)),
      /tools\/call/,
    )
    assert.ok(proxy.seen.includes(`CONNECT ${new URL(server.url).host}`), proxy.seen.join())
    assert.ok(proxy.seen.includes(`POST ${plain.url}`), proxy.seen.join())
    const inspected = JSON.stringify(await made.gateway.control('inspect', {}))
    assert.doesNotMatch(inspected + JSON.stringify(made.log), /t0p-secret/)
  })

  it('says why its proxy does not let it through, and not with which password', async t => {
    const server = await mcpServer(t, ours.certify('server'))
    const proxy = await startProxy(t, { credentials: 'gate:right-one' })
    const web = { type: 'http', url: server.url, proxy: proxy.url.replace('//', '//gate:wrong-one@') }
    const made = await gatewayOf(t, web, directoryWith(t, {}))
    assert.match(await stateOf(made), /HTTP 407/)
    assert.doesNotMatch(JSON.stringify(made.log), /wrong-one/)
  })

  it('of HTTP+SSE takes the same settings', async t => {
    const proxy = await startProxy(t)
    const web = { type: 'sse', url: 'https://localhost:1/sse', proxy: proxy.url, http2: true }
    const made = await gatewayOf(t, web, directoryWith(t, {}))
    assert.match(await stateOf(made), /HTTP 502/)
    assert.deepEqual(proxy.seen.slice(0, 1), ['CONNECT localhost:1'])
  })

  it('of WebSocket trusts and shows certificates too', async t => {
    const { port, callers } = await webSocketServer(t, {
      ...ours.certify('server'),
      ca,
      requestCert: true,
      rejectUnauthorized: true,
    })
    const mine = ours.certify('gateway')
    const directory = directoryWith(t, { 'ca.pem': ca, 'cert.pem': mine.cert, 'key.pem': mine.key })
    const tls = { ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' }
    const made = await gatewayOf(t, { type: 'ws', url: `wss://localhost:${port}/`, tls }, directory)
    assert.match(await stateOf(made), /"state":"ready"/)
    assert.deepEqual(callers, ['gateway'])
  })
})

/** A WebSocket server of MCP, over TLS where it has a certificate. */
async function webSocketServer(
  t: TestContext,
  tls?: ServerOptions,
): Promise<{ readonly port: number; readonly callers: readonly string[] }> {
  const callers: string[] = []
  const server = tls === undefined ? createPlain() : createSecure(tls)
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'mcp' })
  sockets.on('connection', (socket, request) => {
    callers.push(callerOf(request))
    socket.on('message', (bytes: Buffer) => {
      const answer = answerTo(JSON.parse(bytes.toString()) as Said)
      if (answer !== undefined) socket.send(answer)
    })
  })
  return { port: await listenOn(t, server), callers }
}
