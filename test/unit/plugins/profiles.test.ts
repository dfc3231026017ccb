import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { byToken, from, modern, rest } from '../fixtures/by-token.ts'

const PROFILES = {
  readers: { upstreams: ['files'], tools: { deny: ['*write'] }, prefixes: { files: '' } },
  team: { tools: { allow: ['web__*'] }, principals: ['team-*'] },
}

interface Bench {
  /** The names of the tools at a path of the endpoint. */
  tools(path: string, who?: string): Promise<unknown>
  call(path: string, name: string, who?: string): Promise<JsonObject>
  send(path: string, init: RequestInit): Promise<Response>
}

async function bench(t: TestContext, config: JsonObject = {}): Promise<Bench> {
  const files = closeAfter(
    t,
    await testUpstream({
      tools: { read: () => 'read', write: () => 'written' },
      resources: { 'file:///a': 'a' },
      instructions: 'Mind the files.',
    }),
  )
  const web = closeAfter(
    t,
    await testUpstream({
      tools: { search: () => 'found' },
      resources: { 'web:///b': 'b' },
      instructions: 'Secrets of the web.',
    }),
  )
  const { url } = closeAfter(
    t,
    await testGateway({
      upstreams: { files, web },
      plugins: [byToken],
      config: { rest: {}, profiles: PROFILES, ...config },
    }),
  )
  const send = (path: string, init: RequestInit): Promise<Response> => fetch(new URL(path, url), init)
  const ask = async (path: string, who: string, method: string, params = {}): Promise<JsonObject> =>
    (await (await send(path, from(who, modern(method, params)))).json()) as JsonObject
  return {
    send,
    call: (path, name, who = 'ann') => ask(path, who, 'tools/call', { name, arguments: {} }),
    tools: async (path, who = 'ann') => {
      const reply = await ask(path, who, 'tools/list')
      const { tools } = (reply.result ?? {}) as { tools?: { name: string }[] }
      return tools?.map(({ name }) => name)
    },
  }
}

describe('a profile', () => {
  test('is a view of its own below the endpoint, with names of its own', async t => {
    const { tools, call } = await bench(t)
    const all = ['files__read', 'files__write', 'web__search']
    assert.deepEqual(await tools('/mcp'), all)
    assert.deepEqual(await tools('/mcp/readers'), ['read'])
    assert.deepEqual(await tools('/mcp'), all, 'two views of one caller never mix')
    assert.match(JSON.stringify(await call('/mcp/readers', 'read')), /"text":"read"/)
    assert.match(JSON.stringify(await call('/mcp', 'files__write')), /written/)
    for (const name of ['write', 'files__read', 'web__search', 'search'])
      assert.match(JSON.stringify(await call('/mcp/readers', name)), /"error"/, name)
  })

  test('that nobody declared is not found', async t => {
    const { send } = await bench(t)
    for (const path of ['/mcp/nobody', '/mcp/', '/mcp/readers/', '/mcp/__proto__'])
      assert.equal((await send(path, from('ann', modern('tools/list')))).status, 404, path)
  })

  test('with principals is theirs without asking, and no one else may have it', async t => {
    const { tools, send } = await bench(t)
    assert.deepEqual(await tools('/mcp', 'team-1'), ['web__search'])
    assert.deepEqual(await tools('/mcp/team', 'team-1'), ['web__search'])
    assert.equal((await send('/mcp/team', from('ann', modern('tools/list')))).status, 404)
  })

  test('called default is for who has no other', async t => {
    const { tools } = await bench(t, { profiles: { ...PROFILES, default: { upstreams: [] } } })
    assert.deepEqual(await tools('/mcp'), [])
    assert.deepEqual(await tools('/mcp/readers'), ['read'])
    assert.deepEqual(await tools('/mcp', 'team-1'), ['web__search'])
  })

  test('is that of a listener whose clients name none', async t => {
    const listeners = { main: { type: 'http', port: 0, profile: 'readers' } }
    const { tools } = await bench(t, { listeners })
    assert.deepEqual(await tools('/mcp'), ['read'])
  })

  test('shows and serves by REST what it does by MCP', async t => {
    const { send } = await bench(t)
    const list = (await (await send('/readers/tools', from('ann'))).json()) as { tools: { name: string }[] }
    assert.deepEqual(
      list.tools.map(({ name }) => name),
      ['read'],
    )
    assert.equal((await send('/readers/tools/call', from('ann', rest('read')))).status, 200)
    assert.equal((await send('/readers/tools/call', from('ann', rest('web__search')))).status, 404)
    assert.equal((await send('/team/tools', from('ann'))).status, 404)
    assert.equal((await send('/nobody/tools', from('ann'))).status, 404)
  })

  test('never reaches or mentions an upstream that it does not show', async t => {
    const { send } = await bench(t)
    const ask = async (method: string, params = {}): Promise<string> =>
      (await send('/mcp/readers', from('ann', modern(method, params)))).text()
    assert.match(await ask('server/discover'), /Mind the files\./)
    assert.doesNotMatch(await ask('server/discover'), /Secrets/)
    assert.doesNotMatch(await ask('resources/list'), /web:/)
    const reading = { ...modern('resources/read', { uri: 'web:///b' }) }
    reading.headers = { ...(reading.headers as Record<string, string>), 'mcp-name': 'web:///b' }
    assert.match(await (await send('/mcp/readers', from('ann', reading))).text(), /not found/i)
  })

  test('keeps its legacy sessions to itself', async t => {
    const { send } = await bench(t)
    const post = (method: string, params: object, session?: string): RequestInit =>
      from('ann', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const opened = await send('/mcp/readers', post('initialize', hello))
    const id = opened.headers.get('mcp-session-id') ?? ''
    assert.match(await (await send('/mcp/readers', post('tools/list', {}, id))).text(), /"read"/)
    assert.equal((await send('/mcp', post('tools/list', {}, id))).status, 404)
  })
})
