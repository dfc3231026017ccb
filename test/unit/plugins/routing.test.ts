import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routing } from '../../../plugins/routing/index.ts'
import type { Config, Route } from '../../../src/api/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { configOf, exchangeOf, install, sessionOf } from './install.ts'

type Routes = NonNullable<Config['routes']>

const UPSTREAMS = {
  upstreams: { web: {}, bare: { prefix: '' }, db: { prefix: 'd.', tools: { rename: { query: 'ask' } } } },
}

async function router(routes: Routes, more: JsonObject = {}) {
  const hooks = await install(routing, routes, configOf({ ...UPSTREAMS, routes, ...more }))
  return {
    hooks,
    route: (method: string, params?: JsonObject, session = sessionOf()): Route | undefined | void =>
      hooks.getRunner('route', method)?.(exchangeOf(method, params, session)),
    request: async (method: string, params?: JsonObject, session = sessionOf()) =>
      hooks.getRunner('request', method)?.(exchangeOf(method, params, session)),
  }
}

test('a name that matches goes to the upstream under the name it knows', async () => {
  const { route } = await router([{ match: { tool: ['db_*', 'web__*'] }, to: 'web' }])

  assert.deepEqual(route('tools/call', { name: 'db_query', arguments: { a: 1 } }), {
    to: 'one',
    upstream: 'web',
    params: { name: 'db_query', arguments: { a: 1 } },
  })
  assert.deepEqual(route('tools/call', { name: 'web__search' }), {
    to: 'one',
    upstream: 'web',
    params: { name: 'search' },
  })
  assert.equal(route('tools/call', { name: 'other' }), undefined)
  assert.equal(route('prompts/get', { name: 'db_query' }), undefined)
})

test('renames are undone on the way, first those of filters, then those of the upstream', async () => {
  const { route } = await router([{ match: { tool: '*' }, to: 'db' }], {
    filters: { tools: { rename: { 'd.ask': 'question' } } },
  })

  for (const name of ['question', 'd.ask', 'ask', 'query', 'd.query']) {
    assert.deepEqual(route('tools/call', { name }), { to: 'one', upstream: 'db', params: { name: 'query' } }, name)
  }
})

test('an empty prefix takes nothing off', async () => {
  const { route } = await router([{ match: { tool: '*' }, to: 'bare' }])

  assert.deepEqual(route('tools/call', { name: 'x' }), { to: 'one', upstream: 'bare', params: { name: 'x' } })
})

test('the first rule that matches wins', async () => {
  const { route } = await router([
    { match: { tool: 'a*' }, to: 'web' },
    { match: { tool: '*' }, to: 'bare' },
  ])

  assert.equal((route('tools/call', { name: 'ab' }) as { upstream: string }).upstream, 'web')
  assert.equal((route('tools/call', { name: 'b' }) as { upstream: string }).upstream, 'bare')
})

test('all conditions of a rule must hold', async () => {
  const { route } = await router([{ match: { tool: 'x', client: 'claude*', principal: ['ann', 'bob'] }, to: 'web' }])
  const call = (client: string, subject?: string) => route('tools/call', { name: 'x' }, sessionOf(client, subject))

  assert.notEqual(call('claude-code', 'ann'), undefined)
  assert.equal(call('claude-code'), undefined)
  assert.equal(call('codex', 'ann'), undefined)
})

test('an unknown method goes where a rule says, with its parameters as they are', async () => {
  const { route, hooks } = await router([{ match: { method: 'vendor/*' }, to: 'web' }])

  assert.deepEqual(route('vendor/thing', { name: 'web__x', a: 1 }), {
    to: 'one',
    upstream: 'web',
    params: { name: 'web__x', a: 1 },
  })
  assert.equal(route('other/thing', {}), undefined)
  assert.equal(hooks.getRunner('request'), undefined)
})

test('a list that is routed is that upstream alone', async () => {
  const { route } = await router([{ match: { client: 'small' }, to: 'web' }])

  assert.deepEqual(route('tools/list', undefined, sessionOf('small')), { to: 'many', upstreams: ['web'] })
})

test('prompts, resources and completions are told apart by what they carry', async () => {
  const { route } = await router([
    { match: { prompt: 'web__*' }, to: 'web' },
    { match: { resource: 'file:///**' }, to: 'bare' },
  ])

  assert.deepEqual(route('prompts/get', { name: 'web__p' }), {
    to: 'one',
    upstream: 'web',
    params: { name: 'p' },
  })
  assert.deepEqual(route('completion/complete', { ref: { type: 'ref/prompt', name: 'web__p' } }), {
    to: 'one',
    upstream: 'web',
    params: { ref: { type: 'ref/prompt', name: 'p' } },
  })
  assert.deepEqual(route('resources/read', { uri: 'file:///a/b' }), {
    to: 'one',
    upstream: 'bare',
    params: { uri: 'file:///a/b' },
  })
  assert.deepEqual(route('completion/complete', { ref: { type: 'ref/resource', uri: 'file:///{p}' } }), {
    to: 'one',
    upstream: 'bare',
    params: { ref: { type: 'ref/resource', uri: 'file:///{p}' } },
  })
})

test('a denied request is refused with the reason given, unless an earlier rule allows it', async () => {
  const { request, route } = await router([
    { match: { tool: 'web__safe' }, to: 'web' },
    { match: { tool: 'web__*' }, deny: 'not today' },
  ])

  assert.deepEqual(await request('tools/call', { name: 'web__drop' }), {
    error: { code: -32602, message: 'not today', data: { code: 'GW_DENIED' } },
  })
  assert.equal(await request('tools/call', { name: 'web__safe' }), undefined)
  assert.throws(() => route('tools/call', { name: 'web__drop' }), { code: 'GW_DENIED', message: 'not today' })
})

test('rules about one kind cost nothing on other methods', async () => {
  const { hooks } = await router([
    { match: { tool: '*' }, deny: 'no' },
    { match: { method: 'vendor/x', client: 'c' }, to: 'web' },
  ])

  assert.equal(hooks.getRunner('request', 'tools/list'), undefined)
  assert.notEqual(hooks.getRunner('route', 'vendor/x'), undefined)
  assert.notEqual(hooks.getRunner('route', 'tools/call'), undefined)
})

test('a parameter of the wrong type matches nothing', async () => {
  const { route } = await router([{ match: { tool: '*' }, to: 'web' }])

  assert.equal(route('tools/call', { name: 7 }), undefined)
  assert.equal(route('tools/call'), undefined)
})
