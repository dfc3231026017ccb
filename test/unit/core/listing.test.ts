import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { TapOptions } from '../../../src/hooks/hook-table.ts'
import type { CatalogEntry, ListingReader, Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, type TestClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { byToken } from '../fixtures/by-token.ts'

type Show = (shown: readonly CatalogEntry[], reader: ListingReader) => readonly CatalogEntry[] | undefined

/** Shows tools in another form. */
function showing(show: Show, readers: TapOptions['readers'] = ({ client }) => client.name): Plugin<never> {
  return {
    name: 'showing',
    setup: ({ hooks }) =>
      hooks.listing.tap({ readers }, (shown, reader) => (reader.kind === 'tools' ? show(shown, reader) : undefined)),
  }
}

/** Shows to clients called so each tool under the name that the table has for it. */
function renaming(client: string, names: Readonly<Record<string, string>>): Plugin<never> {
  return showing((shown, reader) =>
    reader.client.name === client
      ? shown.map(entry => ({ ...entry, exposed: names[entry.original] ?? entry.exposed }))
      : undefined,
  )
}

async function serve(t: TestContext, plugins: readonly Plugin<never>[], config: JsonObject = {}) {
  const tools = { read: () => 'read', write: () => 'written' }
  const web = closeAfter(t, await testUpstream({ tools, prompts: { ask: () => 'asked' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins, config }))
  const connect = async (name: string, era: 'legacy' | 'modern' = 'modern') =>
    closeAfter(t, await testClient(gateway, { era, info: { name, version: '1' } }))
  return { web, gateway, connect }
}

async function namesOf(client: TestClient): Promise<string[]> {
  const { result } = await client.request('tools/list')
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

function called(web: { listCalls(method: string): readonly { params?: JsonObject | undefined }[] }): unknown[] {
  return web.listCalls('tools/call').map(({ params }) => params?.name)
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client calls by the name it was shown, and by the real one`, async t => {
    const { web, connect } = await serve(t, [renaming('small', { read: 'r', write: 'w' })])
    const client = await connect('small', era)

    assert.deepEqual(await namesOf(client), ['r', 'w'])
    for (const name of ['r', 'web__write', 'w']) {
      const { error } = await client.request('tools/call', { name })
      assert.equal(error, undefined)
    }
    assert.deepEqual(called(web), ['read', 'write', 'write'])
  })

test('rules and taps see the real name of what is called by a shown one', async t => {
  const seen: unknown[] = []
  const watching: Plugin<never> = {
    name: 'watching',
    setup({ hooks }) {
      const see = { methods: ['tools/call'] }
      hooks.request.tap(see, ({ params }) => void seen.push(params?.name))
      hooks.settled.tap(see, ({ params, entry }) => void seen.push(params?.name, entry?.exposed))
    },
  }
  const denied = { filters: { tools: { deny: ['web__write'] } } }
  const { web, connect } = await serve(t, [renaming('small', { read: 'r', write: 'w' }), watching], denied)
  const client = await connect('small')

  const early = await client.request('tools/call', { name: 'w' })
  assert.deepEqual(await namesOf(client), ['r'])
  const late = await client.request('tools/call', { name: 'w' })
  await client.request('tools/call', { name: 'r' })

  for (const { error } of [early, late]) assert.match(error?.message ?? '', /^Unknown tool: w$/)
  assert.deepEqual(seen.slice(-3), ['web__read', 'web__read', 'web__read'])
  assert.deepEqual(called(web), ['read'])
})

test('clients of another class neither see a shown name nor can call it', async t => {
  const { web, connect } = await serve(t, [renaming('small', { read: 'r' })])
  const small = await connect('small')
  const large = await connect('large')

  assert.deepEqual(await namesOf(small), ['r', 'web__write'])
  assert.deepEqual(await namesOf(large), ['web__read', 'web__write'])
  const { error } = await large.request('tools/call', { name: 'r' })

  assert.equal(error?.message, 'Unknown tool: r')
  assert.deepEqual(called(web), [])
})

test('what is left out is not shown, and is called all the same', async t => {
  const { web, connect } = await serve(t, [showing(shown => shown.slice(1))])
  const client = await connect('any')

  assert.deepEqual(await namesOf(client), ['web__write'])
  await client.request('tools/call', { name: 'web__read' })

  assert.deepEqual(called(web), ['read'])
})

test('a shown name takes no calls from the tool whose real name it is', async t => {
  const { web, connect } = await serve(t, [renaming('small', { read: 'web__write' })])
  const client = await connect('small')

  assert.deepEqual(await namesOf(client), ['web__write'])
  await client.request('tools/call', { name: 'web__write' })

  assert.deepEqual(called(web), ['write'])
})

test('a list is made once for each class of readers, however many clients name themselves anew', async t => {
  let made = 0
  const counting = showing(
    shown => {
      made++
      return shown.map(entry => ({ ...entry }))
    },
    ({ client }) => (client.name.startsWith('small') ? 'small' : ''),
  )
  const { gateway, connect } = await serve(t, [counting])
  for (let n = 0; n < 40; n++) {
    const client = await testClient(gateway, { info: { name: `small-${n}`, version: `${n}` } })
    await client.request('tools/list')
    await client[Symbol.asyncDispose]()
  }
  await (await connect('large')).request('tools/list')

  assert.equal(made, 2)
})

test('a public list is for its caller alone where rules may change it by caller', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' }, ttlMs: 60_000, cacheScope: 'public' }))
  const scopeWith = async (config: JsonObject): Promise<unknown> => {
    const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [byToken], config }))
    const client = closeAfter(t, await testClient(gateway, { headers: { authorization: 'Bearer alice' } }))
    return (await client.request('tools/list')).result?.cacheScope
  }

  assert.equal(await scopeWith({}), 'public')
  assert.equal(await scopeWith({ policy: { deny: ['principal.subject == "bob"'] } }), 'private')
})

test('a tap without classes of readers does not start', async t => {
  const careless: Plugin<never> = {
    name: 'careless',
    setup: ({ hooks }) => hooks.listing.tap(() => undefined),
  }
  await assert.rejects(serve(t, [careless]), /readers/)
})

test('a class that a client could make as long as it likes fails the list, and nothing else', async t => {
  const { connect } = await serve(t, [showing(() => undefined)])
  const client = await connect('x'.repeat(300))

  const { error } = await client.request('tools/list')
  const { result } = await (await connect('y')).request('tools/list')

  assert.equal((error?.data as JsonObject).code, 'GW_PLUGIN_FAILED')
  assert.ok(result)
})
