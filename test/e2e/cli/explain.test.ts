import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { testClient } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { beforeServer } from '../manners/places.ts'
import { gateway, serving } from './run.ts'

const KEY_HASH = `sha256:${'a'.repeat(64)}`

interface Scene {
  readonly cwd: string
  readonly config: Readonly<Record<string, unknown>>
  write(name: string, config: object): void
}

async function scene(t: TestContext): Promise<Scene> {
  const tools = { search: () => 'found', drop: () => 'gone' }
  const { cwd, config } = await beforeServer(t, tools, { activity: { every: 50 } })
  return { cwd, config, write: (name, other) => writeFileSync(join(cwd, name), JSON.stringify(other)) }
}

function json(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

test('explain asks a gateway of its own where none runs, and says who would answer', async t => {
  const { cwd } = await scene(t)

  const lines = await gateway(['explain', 'web__search'], { cwd })
  const { stdout, code } = await gateway(['explain', 'web__nothing', '--json'], { cwd })

  assert.equal(lines.code, 0, lines.stderr)
  assert.match(lines.stdout, /^web__search → web search\n/)
  assert.match(lines.stdout, /server by web: "web" answers/)
  assert.equal(code, 0)
  assert.equal((json(stdout).outcome as { what: string }).what, 'refused')
})

test('plan, activity and usage speak of the gateway that runs', async t => {
  const { cwd, config, write } = await scene(t)
  const serve = serving(t, ['serve'], { cwd })
  const { url } = await serve.logged('listening')
  const client = await testClient(String(url))
  cleanup(t, () => client[Symbol.asyncDispose]())
  await client.request('tools/call', { name: 'web__search', arguments: { q: 'private' } })
  await client.request('tools/call', { name: 'web__drop' })

  const activity = await gateway(['activity', '--json'], { cwd })
  const same = await gateway(['plan', '-c', 'gateway.yaml', '--json'], { cwd })
  const spec = (config.upstreams as { web: object }).web
  write('new.yaml', {
    ...config,
    upstreams: {
      web: { ...spec, tools: { rename: { search: 'find' } } },
      gone: { type: 'stdio', command: 'no-such-program' },
    },
    filters: { tools: { deny: ['*drop'] } },
  })
  const other = await gateway(['plan', '-c', 'new.yaml', '--json'], { cwd })
  const lines = await gateway(['plan', '-c', 'new.yaml'], { cwd })

  assert.equal(activity.code, 0, activity.stderr)
  const calls = json(activity.stdout).calls as { name: string; shape?: unknown }[]
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['web__search', 'web__drop'],
  )
  assert.deepEqual(calls[0]?.shape, { q: 'string(7)' })
  assert.equal(activity.stdout.includes('private'), false)
  assert.equal(same.code, 0, same.stdout + same.stderr)
  assert.equal(other.code, 6, other.stdout + other.stderr)
  const { servers, tools, settings } = json(other.stdout) as Record<string, Record<string, unknown>>
  assert.deepEqual(servers?.started, ['gone'])
  assert.deepEqual(servers?.changed, ['web'])
  assert.deepEqual(tools?.renamed, [{ from: 'web__search', to: 'web__find' }])
  assert.deepEqual(tools?.removed, ['web__drop'])
  assert.deepEqual(settings, ['filters'])
  assert.match(lines.stdout, /\+\s+server\s+gone is started/)
})

test('plan compares with a file where no gateway is running, and activity is read from the file alone', async t => {
  const { cwd, config, write } = await scene(t)
  write('new.yaml', { ...config, auth: { keys: [{ name: 'ci', hash: KEY_HASH }] } })

  const plan = await gateway(['plan', '-c', 'new.yaml', '--against', 'gateway.yaml', '--json'], { cwd })
  const activity = await gateway(['activity'], { cwd })

  assert.equal(plan.code, 6, plan.stderr)
  assert.deepEqual(json(plan.stdout).settings, ['auth'])
  assert.equal(activity.code, 0, activity.stderr)
  assert.match(activity.stdout, /no calls/)
})

test('explain speaks of another client, where a rule tells clients apart', async t => {
  const { cwd, config, write } = await scene(t)
  const deny = [{ for: 'web__search', when: 'client.name == "cursor"', name: 'not-cursor' }]
  write('gateway.yaml', { ...config, policy: { deny } })

  const other = await gateway(['explain', 'web__search', '--client', 'cursor', '--json'], { cwd })
  const mine = await gateway(['explain', 'web__search', '--client', 'zed', '--json'], { cwd })

  assert.equal((json(other.stdout).outcome as { what: string }).what, 'refused', other.stdout)
  assert.match(other.stdout, /not-cursor/)
  assert.notEqual((json(mine.stdout).outcome as { what: string }).what, 'refused', mine.stdout)
})

test('activity --follow goes on with the calls that come, and usage names the tools that nobody calls', async t => {
  const { cwd } = await scene(t)
  const serve = serving(t, ['serve'], { cwd })
  const { url } = await serve.logged('listening')
  const client = await testClient(String(url))
  cleanup(t, () => client[Symbol.asyncDispose]())
  await client.request('tools/list')
  await client.request('tools/call', { name: 'web__search', arguments: { q: 'one' } })

  const usage = await gateway(['usage', '--json'], { cwd })
  const lines = await gateway(['usage'], { cwd })
  assert.deepEqual(json(usage.stdout).never, ['web__drop'], usage.stderr)
  assert.match(lines.stdout, /never called \(1\):\s+web__drop/)

  const following = serving(t, ['activity', '--follow', '--json'], { cwd })
  const printed = createInterface({ input: following.child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => json(String((await printed.next()).value)).name
  assert.equal(await next(), 'web__search')
  await client.request('tools/call', { name: 'web__drop' })
  assert.equal(await next(), 'web__drop')
  following.child.kill('SIGINT')
  assert.equal(await following.exit, 0)
})
