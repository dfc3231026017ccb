import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { parseAppUri, toAppUri } from '../../../src/protocol/app-uri.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

const NAME = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
const URI = fc.stringMatching(/^ui:\/\/[a-zA-Z0-9.-]{1,9}(\/[a-z0-9._:-]{1,6}){0,3}$/)
/** Those that servers accept in a request; some have a server's name as their host. */
const READABLE = fc.stringMatching(/^ui:\/\/(a|b|a\.tapgate|b\.tapgate|[a-z]{1,4})(\/[a-z][a-z0-9-]{0,5}){1,3}\.html$/)

interface AppTool {
  readonly name: string
  readonly link: string
  readonly visibility?: readonly string[]
}

/** An upstream whose tools name their apps; each app is its own page, and a tool answers with its server and name. */
async function startAppServer(
  t: TestContext,
  from: string,
  tools: readonly AppTool[],
  listed: readonly string[] = [],
): Promise<TestUpstream> {
  const list = tools.map(({ name, link, visibility }) => ({
    name,
    inputSchema: { type: 'object' },
    _meta: { ui: { resourceUri: link, ...(visibility === undefined ? {} : { visibility }) } },
  }))
  return closeAfter(
    t,
    await testUpstream({
      capabilities: { tools: {}, resources: {} },
      resources: Object.fromEntries(listed.map(uri => [uri, ''])),
      methods: {
        'tools/list': () => ({ tools: list }),
        'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `${from} ${String(name)}` }] }),
        'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${from} ${String(uri)}` }] }),
      },
    }),
  )
}

interface ListedTool {
  readonly name: string
  readonly _meta: { readonly ui: { readonly resourceUri: string } }
}

function includesText(result: unknown, text: string): boolean {
  return JSON.stringify(result).includes(JSON.stringify(text))
}

test('every URI is found again, and the URIs of two servers never are the same', () => {
  fc.assert(
    fc.property(NAME, NAME, URI, (one, other, uri) => {
      assert.deepEqual(parseAppUri(toAppUri(one, uri)), { upstream: one, uri })
      if (one !== other) assert.notEqual(toAppUri(one, uri), toAppUri(other, uri))
    }),
    { numRuns: 2000 },
  )
})

test('with 200 pairs of equal URIs on two servers every read reaches the server whose tool or list has it', async t => {
  const uris = [...new Set(fc.sample(READABLE, { numRuns: 400, seed: 7 }))].slice(0, 200)
  assert.equal(uris.length, 200)
  const tools = uris.map((link, i) => ({ name: `show-${i}`, link }))
  // Servers may leave apps out of their lists.
  const listed = uris.filter((_, i) => i % 2 === 0)
  const [a, b] = [await startAppServer(t, 'a', tools, listed), await startAppServer(t, 'b', tools, listed)]
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const shown = (await client.request('tools/list')).result as { tools: ListedTool[] }
  const wrong: unknown[] = []
  for (const { name, _meta } of shown.tools) {
    const [server = '', index] = name.split('__show-')
    const { result } = await client.request('resources/read', { uri: _meta.ui.resourceUri })
    const expected = { uri: _meta.ui.resourceUri, text: `${server} ${String(uris[Number(index)])}` }
    if (JSON.stringify((result as JsonObject).contents) !== JSON.stringify([expected])) wrong.push([name, result])
  }
  for (const uri of uris) {
    const { error, result } = await client.request('resources/read', { uri })
    const target = parseAppUri(uri)
    const isRight =
      target === undefined ? error !== undefined : includesText(result, `${target.upstream} ${target.uri}`)
    if (!isRight) wrong.push([uri, result])
  }

  assert.equal(shown.tools.length, 400)
  assert.deepEqual(wrong, [])
})

test("a server's own URI is read while only one server has it, and is refused with those to use otherwise", async t => {
  const a = await startAppServer(t, 'a', [{ name: 'show', link: 'ui://a/main' }], ['ui://both', 'ui://a/listed'])
  const b = await startAppServer(t, 'b', [{ name: 'show', link: 'ui://b/main' }], ['ui://both'])
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const read = async (uri: string) => JSON.stringify(await client.request('resources/read', { uri }))

  assert.match(await read('ui://a/main'), /"uri":"ui:\/\/a\/main","text":"a ui:\/\/a\/main"/)
  assert.match(await read('ui://b/main'), /"text":"b ui:\/\/b\/main"/)
  assert.match(await read('ui://a/listed'), /"text":"a ui:\/\/a\/listed"/)
  assert.match(await read('ui://both'), /ui:\/\/a\.tapgate\/both, ui:\/\/b\.tapgate\/both/)
  // Parts of an app are in no list.
  assert.match(await read('ui://b/part'), /"text":"b ui:\/\/b\/part"/)
  assert.match(await read('ui://b.tapgate/both/part'), /"text":"b ui:\/\/both\/part"/)
})

test('a part of an app in no list is not read from the first of two servers with such an app', async t => {
  const tools = [{ name: 'show', link: 'ui://app/main' }]
  const [a, b] = [await startAppServer(t, 'a', tools, ['ui://app/main']), await startAppServer(t, 'b', tools)]
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const { error } = await client.request('resources/read', { uri: 'ui://app/part' })

  assert.match(error?.message ?? '', /ui:\/\/a\.tapgate\/app\/part, ui:\/\/b\.tapgate\/app\/part/)
})

test("a server's own URI that only the tool of one server and the list of another have is refused", async t => {
  const a = await startAppServer(t, 'a', [{ name: 'show', link: 'ui://pay/my page' }])
  const b = await startAppServer(t, 'b', [], ['ui://pay/my page'])
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const { error } = await client.request('resources/read', { uri: 'ui://pay/my page' })

  assert.match(error?.message ?? '', /ui:\/\/a\.tapgate\/pay\/my%20page, ui:\/\/b\.tapgate\/pay\/my%20page/)
})

test("a URI that the configuration chose for one server does not lead another server's tool to it", async t => {
  const a = await startAppServer(t, 'a', [{ name: 'show', link: 'ui://page' }])
  const b = await startAppServer(t, 'b', [], ['ui://old'])
  const config = { upstreams: { b: { resources: { rename: { 'ui://old': 'ui://page' } } } } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b }, config }))
  const client = closeAfter(t, await testClient(gateway.url))
  const { tools } = (await client.request('tools/list')).result as { tools: ListedTool[] }
  const [link = ''] = tools.map(({ _meta }) => _meta.ui.resourceUri)

  assert.ok(includesText((await client.request('resources/read', { uri: link })).result, 'a ui://page'))
  assert.ok(includesText((await client.request('resources/read', { uri: 'ui://page' })).result, 'b ui://old'))
})

test('updates of a subscribed app have the URI that the client sees', async t => {
  const a = closeAfter(
    t,
    await testUpstream({ resources: { 'ui://app': 'a' }, capabilities: { resources: { subscribe: true } } }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { a } }))
  const client = closeAfter(t, await testClient(gateway.url, { era: 'legacy' }))
  await client.listen()
  await client.request('resources/subscribe', { uri: 'ui://a.tapgate/app' })
  await a.waitForListener()
  a.notify('notifications/resources/updated', { uri: 'ui://app' })
  const listUpdates = () => client.notifications.filter(({ method }) => method === 'notifications/resources/updated')
  await until(() => listUpdates().length > 0)

  assert.deepEqual(listUpdates()[0]?.params, { uri: 'ui://a.tapgate/app' })
})

test('an app that the rules for resources hide cannot be read under any URI', async t => {
  const tools = ['open', 'secret'].map(name => ({ name, link: `ui://${name}` }))
  const [a, b] = [await startAppServer(t, 'a', tools, ['ui://secret']), await startAppServer(t, 'b', tools)]
  const config = {
    filters: { resources: { deny: ['ui://secret'] } },
    profiles: { one: { upstreams: ['a'] }, few: { resources: { deny: ['ui://open'] } } },
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b }, config }))
  const read = async (path: string, uri: string) => {
    const client = closeAfter(t, await testClient(`${gateway.url}${path}`))
    return JSON.stringify(await client.request('resources/read', { uri }))
  }

  for (const uri of ['ui://secret', 'ui://a.tapgate/secret', 'ui://b.tapgate/secret'])
    assert.match(await read('', uri), /"error"/, uri)
  assert.match(await read('', 'ui://b.tapgate/open'), /"b ui:\/\/open"/)
  assert.match(await read('/one', 'ui://a.tapgate/open'), /"a ui:\/\/open"/)
  assert.match(await read('/one', 'ui://open'), /"a ui:\/\/open"/)
  assert.match(await read('/one', 'ui://b.tapgate/open'), /"error"/)
  assert.match(await read('/few', 'ui://a.tapgate/open'), /"error"/)
})

test("an app calls its server's tools by their own names, as long as one server with apps has them", async t => {
  const clock = await startAppServer(t, 'clock', [
    { name: 'get-time', link: 'ui://clock' },
    { name: 'tick', link: 'ui://clock', visibility: ['app'] },
    { name: 'stop', link: 'ui://clock', visibility: ['model'] },
  ])
  const watch = await startAppServer(t, 'watch', [{ name: 'get-time', link: 'ui://clock' }])
  const plain = closeAfter(t, await testUpstream({ tools: { tick: () => 'plain', erase: () => 'plain' } }))
  const config = { profiles: { watch: { upstreams: ['watch'] } } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { plain, clock, watch }, config }))
  const call = async (name: string, path = '') => {
    const client = closeAfter(t, await testClient(`${gateway.url}${path}`))
    return JSON.stringify(await client.request('tools/call', { name, arguments: {} }))
  }

  assert.match(await call('tick'), /"clock tick"/)
  assert.match(await call('clock__get-time'), /"clock get-time"/)
  // Two servers have it, apps may not call it, and this server has no apps.
  for (const name of ['get-time', 'stop', 'erase']) assert.match(await call(name), /Unknown tool/, name)
  assert.match(await call('get-time', '/watch'), /"watch get-time"/)
  assert.match(await call('tick', '/watch'), /Unknown tool/)
})

test('a tool for apps only is listed for hosts, and is in no search, script or REST list', async t => {
  const clock = await startAppServer(t, 'clock', [
    { name: 'show', link: 'ui://clock' },
    { name: 'refresh', link: 'ui://clock', visibility: ['app'] },
  ])
  const config = {
    surface: { choices: ['search', 'compact', 'code'] },
    rest: { path: '/rest' },
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { clock }, config }))
  const connect = async (mode: string) => closeAfter(t, await testClient(`${gateway.url}?surface=${mode}`))
  const call = async (mode: string, name: string, args: JsonObject) =>
    JSON.stringify(await (await connect(mode)).request('tools/call', { name, arguments: args }))
  const list = async (mode: string) => JSON.stringify(await (await connect(mode)).request('tools/list'))
  const getText = async (path: string) => await (await fetch(new URL(path, gateway.url))).text()

  for (const mode of ['search', 'compact', 'code']) assert.match(await list(mode), /"clock__refresh"/, mode)
  assert.match(await list('compact'), /"name":"clock__show"[^}]*\}[^}]*"resourceUri":"ui:\/\/clock\.tapgate\/clock"/)
  assert.match(await call('search', 'search_tools', { query: 'show' }), /clock__show/)
  assert.doesNotMatch(await call('search', 'search_tools', { query: 'refresh' }), /clock__refresh/)
  assert.match(await call('search', 'refresh', {}), /"clock refresh"/)
  for (const path of ['/rest/tools', '/rest/openapi.json']) {
    assert.match(await getText(path), /clock__show/)
    assert.doesNotMatch(await getText(path), /clock__refresh/)
  }
})

test('a model cannot call a tool for apps only by a search tool, in a script or over REST', async t => {
  const clock = await startAppServer(t, 'clock', [
    { name: 'show', link: 'ui://clock' },
    { name: 'refresh', link: 'ui://clock', visibility: ['app'] },
  ])
  const config = { surface: { choices: ['search', 'code'] }, rest: { path: '/rest' } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { clock }, config }))
  const call = async (mode: string, name: string, args: JsonObject) => {
    const client = closeAfter(t, await testClient(`${gateway.url}?surface=${mode}`))
    return JSON.stringify(await client.request('tools/call', { name, arguments: args }))
  }
  const callOverRest = async (name: string) => {
    const headers = { 'content-type': 'application/json' }
    const url = new URL('/rest/tools/call', gateway.url)
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ name }) })).status
  }

  for (const name of ['clock__refresh', 'refresh']) {
    assert.match(await call('search', 'call_tool', { name }), /Unknown tool/, name)
    assert.match(await call('code', 'run_code', { code: `return await call('${name}', {})` }), /Unknown tool/, name)
    assert.equal(await callOverRest(name), 404, name)
  }
  assert.match(await call('search', 'call_tool', { name: 'clock__show' }), /clock show/)
  assert.match(await call('search', 'clock__refresh', {}), /clock refresh/)
  assert.equal(await callOverRest('clock__show'), 200)
})

test('routes match the URI of a server, and lead to the page of the server that the URI names', async t => {
  const tools = [{ name: 'show', link: 'ui://app' }]
  const [a, b] = [await startAppServer(t, 'a', tools, ['ui://app']), await startAppServer(t, 'b', tools, ['ui://app'])]
  const routes = [
    { match: { resource: 'ui://secret/**' }, deny: 'secret' },
    { match: { client: 'only-b' }, to: 'b' },
  ]
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b }, config: { routes } }))
  const read = async (uri: string, name = 'any') => {
    const client = closeAfter(t, await testClient(gateway.url, { info: { name, version: '1' } }))
    return JSON.stringify(await client.request('resources/read', { uri }))
  }

  assert.match(await read('ui://b.tapgate/app', 'only-b'), /"uri":"ui:\/\/b\.tapgate\/app","text":"b ui:\/\/app"/)
  assert.doesNotMatch(await read('ui://a.tapgate/app', 'only-b'), / ui:\/\/app"/)
  for (const uri of ['ui://secret/x', 'ui://a.tapgate/secret/x']) assert.match(await read(uri), /"message":"secret"/)
})

test("an app's calls never take the names of another server, whether that is down or its tool is hidden", async t => {
  const a = await startAppServer(
    t,
    'a',
    ['tick', 'b__go', 'go', 'short'].map(name => ({ name, link: 'ui://a' })),
  )
  const b = closeAfter(t, await testUpstream({ tools: { go: () => 'b go' } }))
  const down = { type: 'http', url: 'http://127.0.0.1:9/mcp' } as const
  const call = async (config: JsonObject, name: string, path = '') => {
    const gateway = closeAfter(t, await testGateway({ upstreams: 'upstreams' in config ? { a } : { a, b }, config }))
    const client = closeAfter(t, await testClient(`${gateway.url}${path}`))
    return JSON.stringify(await client.request('tools/call', { name, arguments: {} }))
  }

  for (const name of ['tick', 'go']) assert.match(await call({}, name), new RegExp(`"a ${name}"`))
  assert.match(await call({ upstreams: { b: down } }, 'b__go'), /GW_UPSTREAM_DOWN/)
  assert.match(await call({ upstreams: { b: { ...down, prefix: '' } } }, 'go'), /"error"/)
  assert.match(await call({ filters: { tools: { deny: ['b__go'] } } }, 'b__go'), /Unknown tool/)
  assert.match(await call({ profiles: { only: { upstreams: ['a'] } } }, 'b__go', '/only'), /Unknown tool/)
  const renamed = { filters: { tools: { rename: { b__go: 'short' } } }, policy: { deny: ['tool.original == "go"'] } }
  assert.match(await call(renamed, 'short'), /Unknown tool/)
})

test("a policy about a server's own URI holds for every spelling of the URI that clients see", async t => {
  const pages = ['ui://admin/secret', 'ui://open']
  const a = closeAfter(
    t,
    await testUpstream({
      resources: Object.fromEntries(pages.map(uri => [uri, uri])),
      capabilities: { resources: { subscribe: true } },
      methods: { 'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'read' }] }) },
    }),
  )
  const config = { policy: { deny: ['resource.uri.startsWith("ui://admin/")'] } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a }, config }))
  const client = closeAfter(t, await testClient(gateway.url, { era: 'legacy' }))
  const hidden = ['admin', 'admin:', '%61dmin'].flatMap(host => [`ui://${host}`, `ui://a.tapgate/${host}`])

  assert.ok('result' in (await client.request('resources/read', { uri: 'ui://a.tapgate/open' })))
  for (const uri of [...hidden, 'ui://a.tapgate/admin%3A'])
    for (const method of ['resources/read', 'resources/subscribe'])
      assert.ok('error' in (await client.request(method, { uri: `${uri}/secret` })), `${method} ${uri}`)
})
