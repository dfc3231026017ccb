import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { open, posted, setting } from './setting.ts'

const call = (name: string, args: JsonObject = {}): [string, JsonObject] => ['tools/call', { name, arguments: args }]

describe('what the API tells', () => {
  test('calls with their outcome, the newest first, page by page', async t => {
    const made = await setting(t)
    const client = await made.client()
    await client.request(...call('web__echo', { text: 'one' }))
    await client.request(...call('web__boom'))
    await client.request(...call('web__nothing'))
    const { json } = await made.opened()
    const { calls, kept, next } = await json('calls?limit=2')
    assert.deepEqual(
      (calls as JsonObject[]).map(({ name, outcome }) => [name, outcome]),
      [
        ['web__nothing', 'refused'],
        ['web__boom', 'is_error'],
      ],
    )
    assert.equal(kept, 3)
    const rest = await json(`calls?before=${String(next)}`)
    assert.deepEqual(
      (rest.calls as JsonObject[]).map(({ name }) => name),
      ['web__echo'],
    )
    assert.equal(rest.next, undefined)
    const failed = await json('calls?outcome=failed&tool=boom')
    assert.deepEqual(
      (failed.calls as JsonObject[]).map(({ name }) => name),
      ['web__boom'],
    )
  })

  test('where the time of a call went, its arguments and its result', async t => {
    const made = await setting(t)
    const client = await made.client()
    await client.request(...call('web__echo', { text: 'hello' }))
    const { json } = await made.opened()
    const detail = await json('call?id=1')
    const { tries, upstream = -1, client: asked } = detail.timing as Record<string, number>
    assert.deepEqual({ tries, asked }, { tries: 1, asked: 0 })
    assert.ok(upstream >= 0 && upstream <= Number(detail.ms), `${upstream} of ${String(detail.ms)}`)
    assert.equal(detail.arguments, '{"text":"hello"}')
    assert.match(String(detail.result), /hello/)
  })

  test('names and types of arguments alone where values are not kept', async t => {
    const made = await setting(t, { ui: {} })
    await (await made.client()).request(...call('web__echo', { text: 'private' }))
    const { ask, json } = await made.opened()
    const detail = await json('call?id=1')
    assert.equal(detail.shape, '{"text":"string(7)"}')
    assert.doesNotMatch(await (await ask('call?id=1')).text(), /private/)
  })

  test('no secret of the configuration, whoever wrote it', async t => {
    const secret = 'hunter2-"quoted"-secret'
    const made = await setting(t, {
      upstreams: {
        other: { type: 'http', url: 'http://127.0.0.1:1/mcp', headers: { authorization: secret } },
      },
    })
    await (await made.client()).request(...call('web__echo', { text: `it is ${secret}` }))
    const { ask } = await made.opened()
    for (const name of ['call?id=1', 'calls', 'config', 'overview']) {
      const text = await (await ask(name)).text()
      assert.ok(!text.includes('hunter2'), name)
    }
  })

  test('no more calls than are to be kept', async t => {
    const made = await setting(t, { ui: { calls: 10 } })
    const client = await made.client()
    for (let i = 0; i < 15; i++) await client.request(...call('web__echo', { text: String(i) }))
    const { json } = await made.opened()
    const { calls, kept } = await json('calls')
    assert.equal(kept, 10)
    assert.deepEqual(
      (calls as JsonObject[]).map(({ id }) => id),
      [15, 14, 13, 12, 11, 10, 9, 8, 7, 6],
    )
    assert.match(JSON.stringify(await json('call?id=5')), /not found/)
  })
})

describe('what the API tells of tools and clients', () => {
  test('tools as they were listed, and asks no server for them', async t => {
    const made = await setting(t)
    const { json } = await made.opened()
    const before = made.upstream.listCalls('tools/list').length
    assert.deepEqual((await json('tools')).tools, [])
    assert.equal(made.upstream.listCalls('tools/list').length, before)
    await (await made.client()).request('tools/list', {})
    const listed = await json('tools?search=ech')
    assert.deepEqual(
      (listed.tools as JsonObject[]).map(({ name, upstream, isShown }) => [name, upstream, isShown]),
      [['web__echo', 'web', true]],
    )
    assert.ok(Number(listed.tokens) > 5)
    const tool = await json('tool?name=web__echo')
    assert.equal(tool.original, 'echo')
  })

  test('the skills of one server, and none of a server without', async t => {
    const made = await setting(t, { upstreams: { help: { type: 'skills', skills: { builtin: true } } } })
    const { json } = await made.opened()
    const { skills } = (await json('skills?server=help')) as { skills: JsonObject[] }
    assert.deepEqual(
      skills.map(({ uri, name, files }) => [uri, name, files]),
      [['skill://help/tapgate/SKILL.md', 'tapgate', 1]],
    )
    assert.deepEqual(await json('skills?server=web'), { skills: [] })
  })

  test('tools that a filter hides are there, and are said to be hidden', async t => {
    const made = await setting(t, { filters: { tools: { deny: ['web__boom'] } } })
    const { json } = await made.opened()
    assert.equal((await json('refresh', {})).tools, 3)
    const { tools } = await json('tools')
    const shown = (tools as JsonObject[]).map(({ name, isShown }) => [name, isShown])
    assert.deepEqual(Object.fromEntries(shown), { web__echo: true, web__boom: false, web__slow: true })
    const why = await json('explain', { tool: 'web__boom' })
    assert.equal((why.outcome as JsonObject).what, 'refused')
  })

  test('the name by which a client is shown a tool, and why it is another one', async t => {
    const long = `a_tool_with_a_name_${'that_is_long_'.repeat(6)}`
    const made = await setting(t, {}, { [long]: () => 'x' })
    await (await made.client()).request('tools/list', {})
    const { json, ask } = await made.opened()
    const asked = { tool: `web__${long}`, server: 'web' }
    const shown = await json('shown', { ...asked, client: 'cursor-vscode' })
    assert.equal(shown.isShown, true, JSON.stringify(shown))
    assert.ok(String(shown.name).length <= 64, String(shown.name))
    assert.ok((shown.notes as string[]).length > 0)
    const none = await json('shown', { tool: 'web__none', server: 'web', client: 'x' })
    assert.equal(none.isShown, false)
    const bad = await ask('shown', posted({ tool: 'x', client: 'x' }))
    assert.equal(bad.status, 400)
  })

  test('clients, servers and figures', async t => {
    const made = await setting(t)
    await (await made.client()).request(...call('web__echo', { text: 'x' }))
    const { json } = await made.opened()
    const { clients } = await json('clients')
    assert.ok((clients as JsonObject[]).some(({ client, calls }) => client === 'test-client' && calls === 1))
    const { servers } = await json('overview')
    assert.deepEqual(
      (servers as JsonObject[]).map(({ name, state }) => [name, state]),
      [['web', 'ready']],
    )
    for (const query of ['figures', 'figures?span=15m&server=web', 'figures?span=24h']) {
      const { figures } = await json(query)
      assert.equal((figures as JsonObject[])[0]?.calls, 1, query)
    }
    assert.deepEqual((await json('figures?server=other')).figures, [])
    assert.match(JSON.stringify(await json('figures?span=2h')), /15m, 1h, 24h/)
  })
})

describe('what the API does', () => {
  test('tries a tool and tells its progress and its result', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    const reply = await ask('run', posted({ name: 'web__slow' }))
    const events = (await reply.text())
      .split('\n\n')
      .filter(Boolean)
      .map(block => JSON.parse(block.slice(6)) as JsonObject)
    assert.deepEqual(
      events.map(({ event }) => event),
      ['progress', 'result'],
    )
    assert.match(JSON.stringify(events), /done/)
  })

  test('tries a tool without a session of a client in the metrics', async t => {
    const made = await setting(t, { metrics: {} })
    const { ask } = await made.opened()
    await (await ask('run', posted({ name: 'web__echo', arguments: { text: 'hello' } }))).text()
    const metrics = await (await fetch(new URL('/metrics', made.origin))).text()
    assert.match(metrics, /tool="web__echo"/)
    assert.doesNotMatch(metrics, /mcp_server_session_duration_seconds_count/)
  })

  test('tries a tool with its arguments as they were written', async t => {
    const raw = fileURLToPath(new URL('../../fixtures/servers/raw-echo-server.mjs', import.meta.url))
    const upstreams = { raw: { type: 'stdio', command: process.execPath, args: [raw] } }
    const gateway = closeAfter(t, await testGateway({ config: { ui: {}, upstreams } }))
    const { ask } = await open(String((await gateway.gateway.control('ui.link')).url))
    const args = '{"id":9007199254740993,"amount":1e400}'

    const reply = await ask('run', { ...posted({}), body: `{"name":"raw__raw","arguments":${args}}` })

    const { content } = JSON.parse((await reply.text()).slice(6)) as { content: { text: string }[] }
    const line = Buffer.from(content[0]?.text ?? '', 'base64').toString()
    assert.ok(line.includes(`"arguments":${args}`), line)
  })

  test('starts and restarts servers', async t => {
    const made = await setting(t)
    const { json } = await made.opened()
    await json('server', { name: 'web', action: 'stop' })
    assert.equal(made.gateway.gateway.upstreams.get('web')?.status().state, 'stopped')
    await json('server', { name: 'web', action: 'start' })
    assert.equal(made.gateway.gateway.upstreams.get('web')?.status().state, 'ready')
    const wrong = await json('server', { name: 'wep', action: 'start' })
    assert.match(JSON.stringify(wrong), /did you mean/)
  })

  test('tells events as they happen, and ends with the gateway', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    const reply = await ask('events')
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
    await (await made.client()).request(...call('web__echo', { text: 'x' }))
    let text = ''
    while (!text.includes('"type":"call"')) text += (await reader?.read())?.value ?? ''
    assert.match(text, /^retry: /)
    void made.gateway.gateway.close()
    for (;;) if ((await reader?.read())?.done !== false) break
  })

  test('a reload keeps who is logged in, the calls, and the streams', async t => {
    const made = await setting(t)
    const { ask, json } = await made.opened()
    await (await made.client()).request(...call('web__echo', { text: 'x' }))
    const reply = await ask('events')
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
    cleanup(t, () => reader?.cancel())
    const { config } = made.gateway.gateway.generation.loaded
    await made.gateway.gateway.reload({ ...config, ui: { calls: 50 } })
    let text = ''
    while (!text.includes('"changed"')) text += (await reader?.read())?.value ?? ''
    assert.equal((await json('calls')).kept, 1)
  })
})

test('a page that asks for its session again does not compute the status of the gateway again', async t => {
  const { gateway, opened } = await setting(t)
  const { json } = await opened()
  const verbs = t.mock.method(gateway.gateway, 'control')
  const sessions = [await json('session'), await json('session'), await json('session')]

  assert.deepEqual(
    sessions.map(({ subject }) => subject),
    ['anonymous', 'anonymous', 'anonymous'],
  )
  assert.equal(verbs.mock.calls.filter(({ arguments: [verb] }) => verb === 'ps').length, 1)
})
