import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { CollectorClient } from '../../../../plugins/tracing/collector-client.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

async function listen(t: TestContext, answer: RequestListener): Promise<{ post: CollectorClient; sockets: Socket[] }> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  const sockets: Socket[] = []
  server.on('connection', socket => void sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const post = new CollectorClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`)
  cleanup(t, () => {
    post.close()
    server.closeAllConnections()
    server.close()
  })
  return { post, sockets }
}

function message(): Parameters<CollectorClient['send']>[0] {
  return { headers: { 'x-key': 'k' }, body: Buffer.from('{}'), signal: AbortSignal.timeout(20_000) }
}

test('batches go over one connection, and over another one where that has gone without a word', async t => {
  let requests = 0
  const { post, sockets } = await listen(t, (request, response) => {
    request.resume()
    // The third request on the first connection is never answered.
    if (++requests === 3) return void request.socket.destroy()
    response.end('{"partialSuccess":{}}')
  })

  const first = await post.send(message())
  const second = await post.send(message())
  assert.equal(sockets.length, 1)
  const third = await post.send(message())

  for (const { status, text } of [first, second, third])
    assert.deepEqual([status, text], [200, '{"partialSuccess":{}}'])
  assert.equal(sockets.length, 2)
})

test('a redirect is not followed, and no more than the beginning of a reply is read', async t => {
  const paths: string[] = []
  const { post } = await listen(t, (request, response) => {
    paths.push(request.url ?? '')
    request.resume()
    response.writeHead(307, { location: '/elsewhere' }).end('x'.repeat(1_000_000))
  })

  const { status, text } = await post.send(message())

  assert.equal(status, 307)
  assert.ok(text.length <= 64 * 1024)
  assert.deepEqual(paths, ['/v1/traces'])
})
