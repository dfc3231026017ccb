import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { LIST, open, replica, say, statusOf, until } from './setting.ts'

/** Longer than others go by what they knew of a replica. */
const FORGOTTEN_MS = 2500

test(
  'a session that its owner could not write is asked for where that was, and is 404 when nobody is there',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const way = await relay(t, redis.port)
    const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'x' } }))
    const upstreams = { web: { type: 'http', url: web.url } }
    const owner = await replica(t, redis, { upstreams, cluster: { redis: way.url } })
    const other = await replica(t, redis, { upstreams })
    assert.equal((await say(other.url, LIST, await open(owner.url))).status, 200)

    way.cut()
    await until(async () => (await statusOf(owner)).store === 'away')
    const session = await open(owner.url)
    await redis.ask('DEL', `tg:{gateway}:replica:${session.slice(0, 17)}`)
    for (const end = Date.now() + FORGOTTEN_MS; Date.now() < end;)
      assert.equal((await say(other.url, LIST, session)).status, 200)

    await owner.gateway.close()
    await until(async () => (await say(other.url, LIST, session)).status === 404)
  },
)

/** A way to Redis that can be cut. */
async function relay(t: TestContext, port: number): Promise<{ readonly url: string; cut(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer(from => {
    const to = connect(port, '127.0.0.1')
    for (const socket of [from, to]) sockets.add(socket.on('error', () => undefined))
    from.pipe(to).pipe(from)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  cleanup(t, cut)
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, cut }
}
