import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { WebSocketServer } from 'ws'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'
import { createTargetUrl } from '../../../../src/upstreams/http/request.ts'
import { answerTo, type Said } from './network-upstream.ts'
import { listenOn } from '../../../fixtures/listen.ts'

const KEY = 'k3y with+blanks/and&marks=ü'
const TOOLS = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }

/** A server of all transports that notes which URLs it is asked. */
async function server(t: TestContext) {
  const asked: URL[] = []
  const note = (request: IncomingMessage): void => {
    asked.push(new URL(request.url ?? '', 'http://here'))
  }
  let stream: ServerResponse | undefined
  const answer = (said: Said): string | undefined =>
    said.method === 'tools/list' ? JSON.stringify({ jsonrpc: '2.0', id: said.id, result: TOOLS }) : answerTo(said)
  const http = createServer((request, response) => {
    note(request)
    if (request.method === 'GET') {
      if (!request.url?.startsWith('/sse')) return void response.writeHead(405).end()
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void response.write('event: endpoint\ndata: /post?session=1&key=theirs\n\n')
    }
    void text(request).then(body => {
      const said = answer(JSON.parse(body) as Said)
      const isStream = request.url?.startsWith('/post') === true
      if (isStream && said !== undefined) stream?.write(`data: ${said}\n\n`)
      if (isStream || said === undefined) response.writeHead(202).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(said)
    })
  })
  const sockets = new WebSocketServer({ server: http, handleProtocols: () => 'mcp' })
  sockets.on('connection', (socket, request) => {
    note(request)
    socket.on('message', (data: Buffer) => {
      const said = answer(JSON.parse(data.toString()) as Said)
      if (said !== undefined) socket.send(said)
    })
  })
  return { asked, origin: `127.0.0.1:${await listenOn(t, http)}` }
}

for (const [type, scheme, path] of [
  ['http', 'http', '/mcp'],
  ['sse', 'http', '/sse'],
  ['ws', 'ws', '/ws'],
] as const)
  test(`parameters of ${type} upstreams are in every request, and are shown nowhere`, async t => {
    const { asked, origin } = await server(t)
    const spec = { type, query: { key: KEY }, retry: false, breaker: false }
    const config = {
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      metrics: {},
      log: { level: 'debug' },
      upstreams: {
        up: { ...spec, url: `${scheme}://${origin}${path}?plain=1&key=mine` },
        down: { ...spec, url: `${scheme}://127.0.0.1:1${path}` },
      },
    }
    const gateway = closeAfter(t, await testGateway({ config }))
    const client = closeAfter(t, await testClient(gateway))

    const said: unknown[] = [
      await client.request('tools/list'),
      await client.request('tools/call', { name: 'up__echo' }),
      await client.request('tools/call', { name: 'down__echo' }),
      await gateway.gateway.control('ps'),
      await gateway.gateway.control('inspect', { config: true }),
      await gateway.gateway.inspect(),
      await (await fetch(new URL('/metrics', gateway.url))).text(),
      gateway.log,
    ]

    assert.match(JSON.stringify(said[1]), /tools\/call/)
    assert.ok(asked.length > 0)
    for (const { searchParams, pathname } of asked) {
      assert.deepEqual(searchParams.getAll('key'), [KEY], pathname)
      if (pathname !== '/post') assert.equal(searchParams.get('plain'), '1')
    }
    const shown = JSON.stringify(said)
    const forms = [KEY, encodeURIComponent(KEY), new URLSearchParams({ key: KEY }).toString().slice(4), 'k3y']
    assert.deepEqual(
      forms.filter(form => shown.includes(form)),
      [],
    )
  })

test('parameters replace those of their name, and a URL without any stays as it is', () => {
  const url = 'https://a.example/mcp?a=1&b=%20&a=2'
  assert.equal(createTargetUrl({ url }, {}).href, url)
  assert.equal(createTargetUrl({ url, query: {} }, {}).href, url)
  assert.equal(createTargetUrl({ url, query: { a: 'x y' } }, {}).search, '?b=+&a=x%20y')
  assert.equal(
    createTargetUrl({ url: 'https://a.example', query: { 'k&': 'ü#' } }, {}).href,
    'https://a.example/?k%26=%C3%BC%23',
  )
})
