import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject, Plugin } from '../../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

const SEARCH = ['search_tools', 'describe_tools', 'call_read_tool', 'call_tool']
const CODE = ['search_tools', 'describe_tools', 'run_code']
const ALL = ['web__get_issue', 'web__send_mail']

const TOOLS = { get_issue: () => 'issue', send_mail: () => 'sent' }

async function serve(t: TestContext, config: JsonObject, more: JsonObject = {}) {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  const main = { type: 'http', port: 0, sse: { path: '/sse', messages: '/messages' }, ws: { path: '/ws' } }
  const whole = { listeners: { main }, ...config, ...more }
  const opened = { count: 0 }
  const counts: Plugin<never> = {
    name: 'counts',
    setup: ({ hooks }) => hooks.session.tap({ stage: 'transform' }, () => void opened.count++),
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [counts], config: whole }))
  const at = (to: string): string => new URL(to, gateway.url).href
  const connect = async (to: string, options: Parameters<typeof testClient>[1] = {}): Promise<TestClient> =>
    closeAfter(t, await testClient(at(to), { info: { name: 'agent', version: '1' }, ...options }))
  return { web, gateway, opened, at, connect, whole }
}

async function namesOf(client: TestClient): Promise<unknown[]> {
  const { result, error } = await client.request('tools/list')
  if (error !== undefined) return [error.message]
  return (result?.tools as JsonObject[]).map(({ name }) => name)
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** First request of a client of each era. */
const FIRST = {
  modern: { method: 'tools/list', params: { _meta: META } },
  legacy: {
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agent', version: '1' } },
  },
}

/** Headers that go with it. */
const OF_ERA = {
  modern: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
  legacy: {},
}

async function post(url: string, message: object, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const CHOICES = { surface: { mode: 'full', choices: ['full', 'search', 'code'] } }

for (const era of ['modern', 'legacy'] as const) {
  test(`a ${era} client chooses by its URL how tools are shown, side by side with others`, async t => {
    const { connect, web } = await serve(t, CHOICES)
    const searching = await connect('/mcp?surface=search', { era })
    assert.deepEqual(await namesOf(await connect('/mcp', { era })), ALL)
    assert.deepEqual(await namesOf(searching), SEARCH)
    assert.deepEqual(await namesOf(await connect('/mcp?surface=code', { era })), CODE)
    assert.deepEqual(await namesOf(await connect('/mcp?surface=full&else=1', { era })), ALL)

    const { result } = await searching.request('tools/call', {
      name: 'call_tool',
      arguments: { name: 'web__send_mail', arguments: {} },
    })
    assert.deepEqual(result?.content, [{ type: 'text', text: 'sent' }])
    assert.equal(web.listCalls('tools/call')[0]?.params?.name, 'send_mail')
  })

  test(`what a ${era} client may not choose is a refusal that says what it may, and nothing is opened`, async t => {
    const { at, opened } = await serve(t, CHOICES)
    const wrong: Readonly<Record<string, RegExp>> = {
      'surface=serch': /must be full or search or code/,
      'surface=compact': /must be full or search or code/,
      surface: /must be full or search or code/,
      '%73urface=no': /must be full or search or code/,
      'a=1&surface=__proto__': /must be full or search or code/,
    }
    for (const [query, why] of Object.entries(wrong)) {
      const { status, text, headers } = await post(at(`/mcp?${query}`), FIRST[era], OF_ERA[era])
      assert.equal(status, 400, query)
      const { error } = JSON.parse(text) as { error: { code: number; message: string } }
      assert.equal(error.code, -32600)
      assert.match(error.message, /^Bad request: URL parameter "surface" /)
      assert.match(error.message, why)
      assert.equal(headers.get('mcp-session-id'), null)
    }
    assert.equal(opened.count, 0)
    for (const query of ['Surface=no', 'surfaces=no', '__proto__=x', 'constructor=x'])
      assert.equal((await post(at(`/mcp?${query}`), FIRST[era], OF_ERA[era])).status, 200, query)
  })
}

test('without choices in the configuration nothing may be chosen, and without a surface the parameter means nothing', async t => {
  const { at } = await serve(t, { surface: { mode: 'full' } })
  const { status, text } = await post(at('/mcp?surface=full'), FIRST.modern, OF_ERA.modern)
  assert.equal(status, 400)
  assert.match(text, /not allowed: surface\.choices lists no mode/)

  const plain = await serve(t, {})
  assert.deepEqual(await namesOf(await plain.connect('/mcp?surface=search')), ALL)
})

test('each profile has choices of its own', async t => {
  const config = {
    surface: { mode: 'full', choices: ['search'] },
    profiles: {
      same: {},
      scripts: { surface: { choices: ['code'] } },
      fixed: { surface: { choices: [] } },
    },
  }
  const { at, connect } = await serve(t, config)
  assert.deepEqual(await namesOf(await connect('/mcp/same?surface=search')), SEARCH)
  assert.deepEqual(await namesOf(await connect('/mcp/scripts?surface=code')), CODE)
  assert.equal((await post(at('/mcp/scripts?surface=search'), FIRST.modern, OF_ERA.modern)).status, 400)
  assert.equal((await post(at('/mcp/fixed?surface=search'), FIRST.modern, OF_ERA.modern)).status, 400)
})

test('no choice shows or calls what a caller may not have', async t => {
  const config = { ...CHOICES, filters: { tools: { deny: ['web__send_*'] } } }
  const { connect, web } = await serve(t, config)
  for (const mode of ['full', 'search', 'code']) {
    const client = await connect(`/mcp?surface=${mode}`)
    assert.ok(!(await namesOf(client)).includes('web__send_mail'), mode)
    const { error } = await client.request('tools/call', { name: 'web__send_mail', arguments: {} })
    assert.match(String(error?.message), /Unknown tool: web__send_mail/)
    const name = mode === 'code' ? 'run_code' : 'call_tool'
    const given = mode === 'code' ? { code: 'return await call("web__send_mail", {})' } : { name: 'web__send_mail' }
    const { result, error: other } = await client.request('tools/call', { name, arguments: given })
    assert.match(JSON.stringify(result ?? other), /Unknown tool/)
  }
  assert.equal(web.listCalls('tools/call').length, 0)
})

test('a session keeps what it was opened with, whatever the query of a later request is', async t => {
  const { at } = await serve(t, CHOICES)
  const opened = await post(at('/mcp?surface=search'), FIRST.legacy)
  const session = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
  const list = { method: 'tools/list' }

  assert.match((await post(at('/mcp?surface=search'), list, session)).text, /search_tools/)
  assert.match((await post(at('/mcp'), list, session)).text, /search_tools/)
  assert.match((await post(at('/mcp?surface=full'), list, session)).text, /search_tools/)
})

test('a reload that takes a choice away takes it from open sessions, too', async t => {
  const { at, gateway, whole, web } = await serve(t, CHOICES)
  const opened = await post(at('/mcp?surface=search'), FIRST.legacy)
  const session = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
  await gateway.gateway.reload({
    version: 1,
    ...whole,
    upstreams: { web: { type: 'http', url: web.url } },
    surface: { mode: 'full', choices: ['code'] },
  })

  assert.match((await post(at('/mcp'), { method: 'tools/list' }, session)).text, /web__get_issue/)
})

test('a caller that is not let in learns nothing of what could be chosen', async t => {
  const key = { name: 'me', hash: `sha256:${'a'.repeat(64)}` }
  const { at } = await serve(t, CHOICES, { auth: { keys: [key] } })
  const { status, text } = await post(at('/mcp?surface=nonsense'), FIRST.modern, OF_ERA.modern)
  assert.equal(status, 401)
  assert.doesNotMatch(text, /search|choose/)
})
