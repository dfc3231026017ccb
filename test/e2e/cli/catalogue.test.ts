import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testClient } from '../../../src/testing/index.ts'
import { directory, gateway, serving } from './run.ts'

const CHANGING = fileURLToPath(new URL('../../unit/fixtures/servers/changing-server.mjs', import.meta.url))

/** A directory with a configuration of one server that notes its starts. */
async function place(t: TestContext) {
  const cwd = await directory(t, { what: JSON.stringify({ tools: ['add'] }), starts: '' })
  const server = {
    type: 'stdio',
    command: process.execPath,
    args: [CHANGING, join(cwd, 'starts'), join(cwd, 'what')],
  }
  const config = { version: 1, listeners: { main: { type: 'http', port: 0 } }, upstreams: { one: server } }
  const options = { cwd, env: { XDG_STATE_HOME: join(cwd, 'state') } }
  const starts = async (): Promise<number> => (await readFile(join(cwd, 'starts'), 'utf8')).split(' ').length - 1
  return { cwd, config, options, starts }
}

test('serve lists a server that it knows from before without starting it, says so, and forgets when told to', async t => {
  const { cwd, config, options, starts } = await place(t)
  const file = join(cwd, 'gateway.json')
  await writeFile(file, JSON.stringify(config))
  const args = ['serve', '--config', file]
  const run = async (...flags: string[]): Promise<string> => {
    const { child, exit, logged } = serving(t, [...args, ...flags], options)
    const client = await testClient(String((await logged('listening'))['url']))
    const { result } = await client.request('tools/list')
    const { tools, missing } = await logged('serving')
    assert.deepEqual([tools, missing], [1, undefined])
    await client.close()
    child.kill('SIGTERM')
    assert.equal(await exit, 0)
    return JSON.stringify(result).replace(/"ttlMs":\d+/, '')
  }

  const first = await run()
  assert.equal(await starts(), 1)
  assert.equal(await run(), first)
  assert.equal(await starts(), 1)
  const { stdout } = await gateway(['inspect', '--offline', '--config', file], options)
  assert.match(stdout, /one .*idle.*from cache/)
  assert.equal(await starts(), 1)

  assert.equal(await run('--fresh'), first)
  assert.equal(await starts(), 2)
  const [digest = ''] = await readdir(join(cwd, 'state', 'tapgate'))
  assert.deepEqual(await readdir(join(cwd, 'state', 'tapgate', digest)), ['catalogue.json', 'seal.key'])
})
