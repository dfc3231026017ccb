import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolFilter } from '../../../plugins/tool-filter/index.ts'
import type { CatalogEntry } from '../../../src/api/catalog-entry.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import type { Kind } from '../../../src/protocol/methods.ts'
import { ANONYMOUS } from '../../../src/api/principal.ts'
import { configOf, entryOf, exchangeOf, install, sessionOf } from './install.ts'

async function filterWith(config: JsonObject) {
  const full = configOf(config)
  const hooks = await install(toolFilter, full.filters, full)
  const see = (kind: Kind, entries: readonly CatalogEntry[]) =>
    hooks.getRunner('catalog')?.(entries, { kind, principal: ANONYMOUS }) ?? entries
  return {
    hooks,
    see,
    names: (kind: Kind, entries: readonly CatalogEntry[]) => see(kind, entries).map(entry => entry.exposed),
  }
}

const tools = (upstream: string, ...names: string[]) => names.map(name => entryOf('tools', upstream, name))

test('only what an allow glob matches is visible, and deny wins', async () => {
  const { names } = await filterWith({
    upstreams: { web: { tools: { allow: ['read_*', 'write'], deny: ['*_secret'] } }, other: {} },
  })

  assert.deepEqual(
    names('tools', [...tools('web', 'read_a', 'read_secret', 'write', 'drop'), ...tools('other', 'drop')]),
    ['web__read_a', 'web__write', 'other__drop'],
  )
})

test('an empty allow list hides everything', async () => {
  const { names } = await filterWith({ upstreams: { web: { prompts: { allow: [] } } } })

  assert.deepEqual(names('prompts', [entryOf('prompts', 'web', 'p')]), [])
  assert.deepEqual(names('tools', tools('web', 't')), ['web__t'])
})

test('a rename and a description change what clients see, and nothing of what the upstream is asked', async () => {
  const { see } = await filterWith({
    upstreams: { web: { tools: { rename: { search: 'find' }, describe: { search: 'Finds things' } } } },
  })
  const entries = [entryOf('tools', 'web', 'search', undefined, { description: 'old', inputSchema: {} })]

  const [seen] = see('tools', entries)

  assert.deepEqual(seen, {
    kind: 'tools',
    upstream: 'web',
    original: 'search',
    exposed: 'web__find',
    value: { name: 'search', description: 'Finds things', inputSchema: {} },
  })
  assert.equal(entries[0]?.exposed, 'web__search')
})

test('filters speak of the names that clients see, after the upstream renamed them', async () => {
  const { see, names } = await filterWith({
    upstreams: { web: { tools: { rename: { a: 'b' }, describe: { a: 'of the upstream' } } } },
    filters: {
      tools: { allow: ['web__b', 'x__*'], rename: { web__b: 'best' }, describe: { web__b: 'of all' } },
    },
  })

  assert.deepEqual(names('tools', [...tools('web', 'a', 'c'), ...tools('x', 'y')]), ['best', 'x__y'])
  assert.equal(see('tools', tools('web', 'a'))[0]?.value.description, 'of all')
})

test('resources and templates are filtered by URI', async () => {
  const { names } = await filterWith({ upstreams: { web: { resources: { deny: ['file:///secret/*'] } } } })
  const uris = (kind: Kind, ...list: string[]) => list.map(uri => entryOf(kind, 'web', uri, ''))

  assert.deepEqual(names('resources', uris('resources', 'file:///secret/a/b', 'file:///open')), ['file:///open'])
  assert.deepEqual(names('resourceTemplates', uris('resourceTemplates', 'file:///secret/{x}', 'file:///{x}')), [
    'file:///{x}',
  ])
})

test('a denied name is unknown even where a route would send it past the catalog', async () => {
  const { hooks } = await filterWith({
    filters: { tools: { deny: ['db_*'], rename: { x: 'db_fine' } }, resources: { deny: ['file:*'] } },
  })
  const ask = async (method: string, params: JsonObject, era: 'modern' | 'legacy' = 'modern') =>
    hooks.getRunner('request', method)?.(exchangeOf(method, params, sessionOf('c', undefined, era)))

  assert.deepEqual(await ask('tools/call', { name: 'db_drop' }), {
    error: { code: -32602, message: 'Unknown tool: db_drop' },
  })
  assert.equal(await ask('tools/call', { name: 'db_fine' }), undefined)
  assert.equal(await ask('tools/call', { name: 'fine' }), undefined)
  assert.equal(await ask('prompts/get', { name: 'db_drop' }), undefined)
  assert.deepEqual(await ask('resources/read', { uri: 'file:///a' }, 'legacy'), {
    error: { code: -32002, message: 'Resource not found: file:///a', data: { uri: 'file:///a' } },
  })
})

test('names such as __proto__ and constructor are names like any other', async () => {
  const { names } = await filterWith({ upstreams: { web: { tools: { rename: { a: '__proto__' } } } } })

  assert.deepEqual(names('tools', tools('web', 'a', '__proto__', 'constructor', 'toString')), [
    'web____proto__',
    'web____proto__',
    'web__constructor',
    'web__toString',
  ])
})

test('the links of a tool to its user interface follow the renames of resources', async () => {
  const { see } = await filterWith({
    upstreams: { web: { resources: { rename: { 'ui://a': 'ui://b', 'ui://x': 'ui://y' } } } },
    filters: { resources: { rename: { 'ui://y': 'ui://z', 'ui://other': 'ui://mine' } } },
  })
  const seen = (upstream: string, value: JsonObject) =>
    see('tools', [entryOf('tools', upstream, 't', undefined, value)])[0]?.value
  const meta = (uri: string) => ({
    ui: { resourceUri: uri, visibility: ['app'] },
    'ui/resourceUri': uri,
    k: 1,
  })

  assert.deepEqual(seen('web', { _meta: meta('ui://a') }), { name: 't', _meta: meta('ui://b') })
  assert.deepEqual(seen('web', { _meta: meta('ui://x') }), { name: 't', _meta: meta('ui://z') })
  assert.deepEqual(seen('other', { _meta: meta('ui://a') }), { name: 't', _meta: meta('ui://a') })
  assert.deepEqual(seen('other', { _meta: meta('ui://other') }), { name: 't', _meta: meta('ui://mine') })
  for (const _meta of [undefined, null, {}, { ui: 'x' }, { ui: { resourceUri: 5 } }])
    assert.deepEqual(seen('web', { _meta }), { name: 't', _meta })
})

test('without filters the list stays the same object', async () => {
  const { see } = await filterWith({ upstreams: { web: { tools: { timeout: { a: 5 } } } } })
  const entries = tools('web', 'a')

  assert.equal(see('tools', entries), entries)
})
