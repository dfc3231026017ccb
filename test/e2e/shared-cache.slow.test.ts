import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient } from '../../src/testing/index.ts'
import { type Redis, redisFor, skip } from '../fixtures/redis.ts'
import { call, type Counted, counted } from '../unit/plugins/cache/shared/setting.ts'
import { directory, gateway, serving, type Serving } from './cli/run.ts'
import { until } from '../fixtures/until.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')

interface Replica {
  readonly running: Serving
  /** Text that the tool answers with there. */
  look(id?: number): Promise<string>
  write(): Promise<string>
  /** Waits until another process can have what this one was answered. */
  given(): Promise<void>
  purge(): Promise<void>
}

/** One gateway in a process of its own, before the server that all of them have. */
async function replica(t: TestContext, redis: Redis, { url }: Counted): Promise<Replica> {
  const cwd = await directory(t, {
    'gateway.yaml': `
listeners: { main: { type: http, port: 0 } }
upstreams: { web: { type: http, url: "${url}" } }
cluster: { redis: "${redis.url}", keys: [{ id: a, key: "${KEY}" }] }
cache:
  lists: 0
  shared: { wait: 5s }
  tools:
    web__look: { ttl: 1h, tags: [things] }
    web__write: { purges: ['tag:things'] }
`,
  })
  const running = serving(t, ['serve'], { cwd })
  const listening = await running.logged('listening')
  await running.logged('serving')
  const client = closeAfter(t, await testClient(String(listening.url)))
  return {
    running,
    look: (id = 1) => call(client, 'look', { id }),
    write: () => call(client, 'write'),
    given: () =>
      until(async () => {
        const { stdout } = await gateway(['cache', 'ls', '--json'], { cwd })
        return (JSON.parse(stdout) as { shared: { writes: number } }).shared.writes === 1
      }),
    async purge() {
      assert.equal((await gateway(['cache', 'purge', '--upstream', 'web'], { cwd })).code, 0)
    },
  }
}

test(
  'processes share what one of them was answered, past its death, until one says that it is outdated',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const web = await counted(t)
    const [one, two] = [await replica(t, redis, web), await replica(t, redis, web)]

    assert.equal(await one.look(), 'look 1')
    await one.given()
    assert.equal(await two.look(), 'look 1')
    one.running.child.kill('SIGKILL')
    await one.running.exit
    const three = await replica(t, redis, web)
    assert.equal(await three.look(), 'look 1', 'a process that has just begun knows it, too')
    assert.equal(web.asked('look'), 1)

    await two.purge()
    assert.equal(await two.look(), 'look 2')
    await two.given()
    await until(async () => (await three.look()) === 'look 2')
    assert.equal(await three.write(), 'written')
    await until(async () => (await two.look()) === 'look 3')
    assert.equal(web.asked('look'), 3)

    await redis.stop()
    assert.equal(await two.look(), 'look 3', 'each goes on with what it has')
    assert.equal(await two.look(2), 'look 4')
    assert.equal(await three.look(2), 'look 5')
  },
)
