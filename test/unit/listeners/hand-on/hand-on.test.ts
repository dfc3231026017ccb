import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { addressOf, ask, entry, neighbour, owner, SESSION, textOf } from './setting.ts'

/** More than systems keep for a connection that nobody reads. */

test('a request goes on as it came, and its answer comes back as it was given', async t => {
  const seen: IncomingMessage[] = []
  const server = await owner(t, (asked, response) => {
    seen.push(asked)
    void textOf(asked).then(text => {
      response.writeHead(418, ['X-One', 'a', 'x-one', 'b', 'content-type', 'text/plain'])
      response.end(text)
    })
  })
  const { port } = await entry(t, () => neighbour(addressOf(server)))
  for (const [body, framing] of [
    ['{"small":"ä"}', {}],
    ['', {}],
    ['x'.repeat(3_000_000), {}],
    ['y'.repeat(200_000), { 'transfer-encoding': 'chunked' }],
  ] as const) {
    const { status, headers, text } = await ask(port, body, {
      host: 'client.example',
      'x-two': ['1', '2'],
      ...framing,
    })
    assert.equal(status, 418)
    assert.equal(text, body)
    assert.equal(headers['x-one'], 'a, b')
  }
  for (const { url, method, rawHeaders, headers } of seen) {
    assert.equal(`${String(method)} ${String(url)}`, 'POST /mcp?a=b')
    assert.equal(headers.host, 'client.example')
    assert.equal(rawHeaders.filter(name => name.toLowerCase() === 'x-two').length, 2)
    assert.equal(headers['x-tapgate-handed'], 'proof')
  }
  assert.equal(new Set(seen.map(({ socket }) => socket)).size, 1, 'its connection is kept')
})

test('events pass as they come, and a client that goes away ends what it asked for', async t => {
  const gone = Promise.withResolvers<void>()
  const server = await owner(t, (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    response.on('close', gone.resolve)
    response.write('data: 1\n\n')
  })
  const { port } = await entry(t, () => neighbour(addressOf(server)))
  const asked = request({ port, host: '127.0.0.1', headers: { 'mcp-session-id': SESSION } })
  asked.on('error', () => undefined)
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(String((await once(answer, 'data'))[0]), 'data: 1\n\n')
  asked.destroy()
  await gone.promise
})

test('an owner that dies under a request is not asked twice', async t => {
  let asks = 0
  const server = await owner(t, asked => {
    asks++
    asked.socket.destroy()
  })
  const { port } = await entry(t, () => neighbour(addressOf(server)))
  assert.equal((await ask(port, 'x')).status, 502)
  assert.equal(asks, 1)
})

test('an owner that cannot be reached has no session any more, and one that cannot be looked up may have', async t => {
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port: dead } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  const { port } = await entry(t, () => neighbour({ host: '127.0.0.1', port: dead }))
  const { status, text } = await ask(port, 'x'.repeat(100_000))
  assert.equal(status, 404)
  assert.match(text, /-32001/)

  const error = { code: -32603, message: 'later' }
  const unknown = await entry(t, () => ({ status: 503, error, headers: { 'retry-after': '1' } }))
  const later = await ask(unknown.port, 'x')
  assert.deepEqual([later.status, later.headers['retry-after']], [503, '1'])
})

test('streams end when it is told so, and those that begin later', async t => {
  const server = await owner(t, (_asked, response) => void response.writeHead(200).write('data: 1\n\n'))
  const { port, handOn } = await entry(t, () => neighbour(addressOf(server)))
  const open = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/mcp`, { headers: { 'mcp-session-id': SESSION } })
  const first = await open()
  handOn.endStreams()
  assert.equal(await first.text(), 'data: 1\n\n')
  await (await open()).text()
})
