import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../src/testing/index.ts'
import { redisFor, skip as noRedis } from '../fixtures/redis.ts'
import { directory } from '../e2e/cli/run.ts'
import { imageOf, skip } from './image.ts'

test(
  'the image runs as another user, on a root that it cannot write to, and loses nothing when it is stopped',
  { skip: skip || noRedis },
  async t => {
    let release: (text: string) => void = () => undefined
    const slow = new Promise<string>(resolve => (release = resolve))
    const web = closeAfter(t, await testUpstream({ tools: { slow: () => slow } }))
    const redis = await redisFor(t)
    const cwd = await directory(t)
    const config = {
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      upstreams: { web: { type: 'http', url: web.url } },
      cluster: { redis: redis.url, keys: [{ id: 'a', key: Buffer.alloc(32, 7).toString('base64') }] },
      shutdown: { delay: '2s', grace: '10m' },
    }
    await writeFile(join(cwd, 'gateway.yaml'), JSON.stringify(config))
    const image = await imageOf(t)

    const container = image.start(join(cwd, 'gateway.yaml'))
    const { url } = await container.logged('listening')
    await container.logged('serving')
    const pid = await container.pid()
    const client = await testClient(String(url))
    const answer = client.request('tools/call', { name: 'web__slow', arguments: {} })
    await web.waitForCall('tools/call')

    assert.match(await readFile(`/proc/${pid}/status`, 'utf8'), /^NSpid:\t\d+\t1$/m, 'signals reach it')
    assert.match(await mountsOf(pid), /^\S+ \/ \S+ ro[, ]/m)
    assert.equal(await image.health(), 0)
    process.kill(pid, 'SIGTERM')
    await container.logged('draining: not ready, still serving')
    assert.equal((await fetch(new URL('/readyz', String(url)))).status, 503)
    while (
      await fetch(new URL('/livez', String(url))).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      await new Promise(resolve => setTimeout(resolve, 50))
    release('done')

    assert.match(JSON.stringify((await answer).result), /done/)
    await client.close()
    assert.equal(await container.exit, 0)
    assert.notEqual(await image.health(), 0)
    assert.ok((await readdir(image.volume)).length > 0, 'what it keeps is in the volume')
  },
)

function mountsOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/mounts`, 'utf8')
}
