import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createGateway, type ClientConnection, type Gateway } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { createLog } from '../../../src/util/log.ts'
import { script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
const SERVER = script('changing-server.mjs')

/** Two servers of which it is known how often they were started, and a place for what is known of them. */
async function place(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'catalogue-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const path = (name: string): string => join(directory, name)
  const warnings: JsonObject[] = []
  const write = (line: string): void => void warnings.push(JSON.parse(line) as JsonObject)
  const log = createLog({ level: 'warn', format: 'json', write })
  const become = (name: string, what: object): Promise<void> => writeFile(path(name), JSON.stringify(what))
  await become('one', { tools: ['add', 'take'] })
  await become('two', { tools: ['look'], era: 'modern' })
  const upstream = (name: string): JsonObject => ({
    type: 'stdio',
    command: process.execPath,
    args: [SERVER, path(`${name}-starts`), path(name)],
  })
  /** Number of times that a server was started since this was asked last. */
  const starts = async (name: string): Promise<number> => {
    const text = await readFile(path(`${name}-starts`), 'utf8').catch(() => '')
    await rm(path(`${name}-starts`), { force: true })
    return text.split(' ').length - 1
  }
  const gateway = async (spec: JsonObject = {}, more: JsonObject = {}, fresh = false): Promise<Gateway> => {
    const upstreams = { one: { ...upstream('one'), ...spec }, two: upstream('two') }
    const gateway = await createGateway({ upstreams, ...more }, { state: path('state'), log, fresh })
    cleanup(t, () => gateway.close())
    await gateway.start()
    return gateway
  }
  /** A run that learns all there is to know. */
  const learn = async (spec: JsonObject = {}): Promise<unknown> => {
    const first = await gateway(spec)
    await first.settled()
    const client = await first.connect()
    const listed = await list(client)
    await first.inspect()
    await first.close()
    await Promise.all([starts('one'), starts('two')])
    return listed
  }
  return { directory, path, become, starts, gateway, learn, warnings, upstream }
}

async function list(client: ClientConnection): Promise<string> {
  return (await client.raw('tools/list')).bytes().toString()
}

async function names(client: ClientConnection): Promise<unknown[]> {
  const { tools } = await client.request('tools/list')
  return (tools as JsonObject[]).map(({ name }) => name)
}

function call(client: ClientConnection, name: string): Promise<JsonObject> {
  return client.request('tools/call', { name, arguments: {} })
}

const withoutTtl = (text: unknown): string => String(text).replace(/"ttlMs":\d+/, '')

test('the second run greets and lists at once, in the same bytes, and starts nothing until a call', async t => {
  const { learn, gateway, starts } = await place(t)
  const before = await learn()

  const next = await gateway()
  await next.settled()
  const client = await next.connect()
  const greeting = await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  const discovered = await client.request('server/discover')
  const listed = await list(client)
  await client.request('logging/setLevel', { level: 'debug' })
  const status = next.upstreams.get('one')?.status()

  assert.match(JSON.stringify(greeting.instructions), /# one\\nI am 1/)
  assert.deepEqual(greeting.capabilities, discovered.capabilities)
  assert.equal(withoutTtl(listed), withoutTtl(before))
  assert.equal((await next.inspect()).catalog.length, 3)
  assert.deepEqual([status?.state, status?.remembered, status?.era], ['idle', true, 'legacy'])
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [0, 0])

  assert.match(JSON.stringify(await call(client, 'one__add')), /add of/)

  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 0])
  assert.equal(next.upstreams.get('one')?.status().remembered, undefined)
})

test('eager servers start all the same, and who forgot starts what it must ask', async t => {
  const { learn, gateway, starts } = await place(t)
  await learn({ start: 'eager' })

  const eager = await gateway({ start: 'eager' })
  await eager.settled()
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 0])
  await eager.close()

  const fresh = await gateway({ start: 'eager' }, {}, true)
  await fresh.settled()
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 1])
  await fresh.close()

  const off = await gateway({ start: 'eager' }, { state: false })
  await off.settled()
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 1])
})

test('what is configured in another way is asked anew; what only the gateway reads of it is no other way', async t => {
  const { learn, gateway, starts } = await place(t)
  await learn()

  const renamed = await gateway({ prefix: 'uno_', timeout: '9s', tools: { deny: ['take'] }, start: 'lazy' })
  assert.deepEqual(await names(await renamed.connect()), ['uno_add', 'two__look'])
  await renamed.close()
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [0, 0])

  const other = await gateway({ env: { TOKEN: 'sk-another' } })
  assert.deepEqual(await names(await other.connect()), ['one__add', 'one__take', 'two__look'])
  await other.close()
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 0])
})

test('a server that has other tools now is listed as it is once it runs, told of, and saved', async t => {
  const { learn, gateway, become, starts } = await place(t)
  await learn()
  await become('one', { tools: ['add', 'give'], version: '2' })

  const next = await gateway()
  const client = await next.connect()
  assert.deepEqual(await names(client), ['one__add', 'one__take', 'two__look'])
  await call(client, 'one__add')
  assert.deepEqual(await names(client), ['one__add', 'one__give', 'two__look'])
  await next.close()

  await Promise.all([starts('one'), starts('two')])
  const third = await gateway()
  assert.deepEqual(await names(await third.connect()), ['one__add', 'one__give', 'two__look'])
  assert.equal(third.upstreams.get('one')?.status().server?.version, '2')
  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [0, 0])
})

test('a file that cannot be read costs one warning and a start', async t => {
  const { learn, gateway, starts, path, warnings } = await place(t)
  await learn()
  await writeFile(path('state/catalogue.json'), '{"format":"tapgate-cat')

  const next = await gateway()
  assert.deepEqual(await names(await next.connect()), ['one__add', 'one__take', 'two__look'])
  await next.close()

  assert.deepEqual(await Promise.all([starts('one'), starts('two')]), [1, 1])
  assert.match(JSON.stringify(warnings), /moved aside/)
  assert.equal(warnings.length, 1)
  const saved = (await readdir(path('state'))).filter(name => name.startsWith('catalogue'))
  assert.equal(saved.length, 2)
})

test('words are saved as they are, and no secret is', async t => {
  const { gateway, path } = await place(t)
  const next = await gateway({ env: { TOKEN: 'sk-very-secret' } })
  await names(await next.connect())
  await next.close()

  const text = await readFile(path('state/catalogue.json'), 'utf8')
  assert.match(text, /naïve 🙂/)
  assert.doesNotMatch(text, /sk-very-secret|TOKEN/)
})
