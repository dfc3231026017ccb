import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { CallbackToken } from '../../../../../plugins/agents/callback.ts'
import type { TaskCaller } from '../../../../../plugins/agents/types.ts'
import { isObject, type JsonObject } from '../../../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream, type TestClient } from '../../../../../src/testing/index.ts'
import { call, faceSetting, type Setting } from '../mcp/kit.ts'

const WEB = { tools: { search: () => 'found', drop: () => 'gone' }, prompts: { hi: () => 'hello' } }
const CALLBACK = { callback: { tools: ['web__search', 'delegate_task', 'agent_*'], maxDepth: 1 } }

async function setting(t: TestContext, config: JsonObject = {}): Promise<Setting> {
  const web = closeAfter(t, await testUpstream(WEB))
  const upstreams = { web: { type: 'http', url: web.url } }
  return faceSetting(t, CALLBACK, { config: { ...config, upstreams } })
}

/** A task of this caller, as the runner would open a session for it. */
async function begun(client: TestClient, { service }: Setting): Promise<{ task: string; caller: TaskCaller }> {
  await call(client, 'delegate_task', { prompt: 'p', background: true })
  const { view, caller } = service.last
  await service.turn(view.id)
  return { task: view.id, caller }
}

function open({ callback, settings }: Setting, task: string, caller: TaskCaller, depth = 0): CallbackToken {
  const [agent] = settings
  const callbackToken = agent && callback.open({ task, root: 'root', depth, caller, agent })
  if (callbackToken === undefined) throw new Error('there is no door')
  return callbackToken
}

function placeOf({ server }: CallbackToken): { url: string; headers: Record<string, string> } {
  const headers = (server.headers as { name: string; value: string }[]).map(({ name, value }) => [name, value])
  return { url: server.url, headers: Object.fromEntries(headers) as Record<string, string> }
}

async function enter(t: TestContext, callbackToken: CallbackToken): Promise<TestClient> {
  const { url, headers } = placeOf(callbackToken)
  return closeAfter(t, await testClient(url, { headers }))
}

async function names(client: TestClient): Promise<string[]> {
  const { result } = await client.request('tools/list')
  return (result?.tools as { name: string }[]).map(({ name }) => name).sort()
}

test('an agent sees what its owner sees, as far as it may use it, and changes nothing for the owner', async t => {
  const around = await setting(t, { filters: { tools: { deny: ['agent_cancel'] } } })
  const owner = await around.client({ headers: { 'x-who': 'ada' } })
  const { task, caller } = await begun(owner, around)
  const callbackToken = open(around, task, caller)
  const agent = await enter(t, callbackToken)

  assert.deepEqual(await names(agent), ['agent_reply', 'agent_result', 'agent_status', 'delegate_task', 'web__search'])
  assert.ok((await names(owner)).includes('web__drop'))
  assert.deepEqual((await call(agent, 'web__search', {})).content, [{ type: 'text', text: 'found' }])
  for (const name of ['web__drop', 'agent_cancel', 'list_agents'])
    assert.equal((await agent.request('tools/call', { name, arguments: {} })).error?.code, -32602, name)
  assert.deepEqual((await agent.request('prompts/list')).result?.prompts, [])
})

test('only the token opens the door, only that of the agents, and only while the task lasts', async t => {
  const around = await setting(t, { metrics: { path: '/metrics' } })
  const owner = await around.client({ headers: { 'x-who': 'ada' } })
  const { task, caller } = await begun(owner, around)
  const callbackToken = open(around, task, caller)
  const { url, headers } = placeOf(callbackToken)
  const wrong: Record<string, string>[] = [
    {},
    { 'x-who': 'ada' },
    { authorization: 'Bearer nothing' },
    { authorization: `Basic ${(headers.Authorization ?? '').slice(7)}` },
    { authorization: `${headers.Authorization}x` },
  ]
  for (const sent of wrong) {
    const client = closeAfter(t, await testClient(url, { headers: sent }))
    assert.equal((await client.request('tools/list')).status, 401, JSON.stringify(sent))
  }
  assert.equal(callbackToken.wasUsed, false)
  // Beside MCP there is nothing for agents, and a token of theirs is worth nothing elsewhere.
  assert.equal((await fetch(new URL('/metrics', url), { headers })).status, 401)
  const elsewhere = closeAfter(t, await testClient(around.gateway.url, { headers }))
  assert.ok((await names(elsewhere)).includes('web__drop'), 'there it is nobody')
  const rebound = await fetch(url, { method: 'POST', headers: { ...headers, origin: 'http://evil.example' } })
  assert.equal(rebound.status, 403)

  const agent = await enter(t, callbackToken)
  assert.ok((await names(agent)).length > 0)
  assert.equal(callbackToken.wasUsed, true)
  callbackToken.close()
  assert.equal((await agent.request('tools/list')).status, 401)
})

test('at its depth an agent delegates no more, and whoever it begins knows where it comes from', async t => {
  const around = await setting(t)
  const owner = await around.client({ headers: { 'x-who': 'ada' } })
  const { task, caller } = await begun(owner, around)
  const agent = await enter(t, open(around, task, caller))
  const inner = await begun(agent, around)

  assert.deepEqual(inner.caller.parent, { task, root: 'root', depth: 0 })
  assert.equal(inner.caller.owner, caller.owner)
  const deeper = await enter(t, open(around, inner.task, inner.caller, 1))
  assert.deepEqual(await names(deeper), ['web__search'])
  const refused = await deeper.request('tools/call', { name: 'delegate_task', arguments: { prompt: 'p' } })
  assert.equal(refused.error?.code, -32602)
  assert.equal(around.service.begun.length, 2)
})

test('an agent reaches the tasks that it began, and neither its own nor any other of its owner', async t => {
  const around = await setting(t)
  const { service } = around
  const owner = await around.client({ headers: { 'x-who': 'ada' } })
  const other = await begun(owner, around)
  const { task, caller } = await begun(owner, around)
  const agent = await enter(t, open(around, task, caller))
  const child = await begun(agent, around)
  await service.ask(task)

  for (const task_id of [task, other.task])
    for (const name of ['agent_status', 'agent_result', 'agent_reply'])
      assert.equal((await call(agent, name, { task_id })).isError, true, name)
  const going = await call(agent, 'delegate_task', { prompt: 'p', continues: other.task })
  assert.equal(going.isError, true)
  assert.deepEqual(service.answers, [])
  const status = await call(agent, 'agent_status', { task_id: child.task })
  assert.equal(status.isError, false)
  const { structuredContent: listed } = await call(agent, 'agent_status', {})
  assert.ok(isObject(listed))
  assert.deepEqual(
    (listed.tasks as { task_id: string }[]).map(({ task_id }) => task_id),
    [child.task],
  )
})

test('an agent of somebody who came through a profile sees no more than that shows, and cannot choose another', async t => {
  const profiles = { narrow: { tools: { allow: ['delegate_task', 'agent_*'] } }, wide: {} }
  const around = await setting(t, { profiles, rest: { path: '/api' } })
  const narrow = closeAfter(t, await testClient(`${around.gateway.url}/narrow`, { headers: { 'x-who': 'ada' } }))
  const { task, caller } = await begun(narrow, around)
  const callbackToken = open(around, task, caller)
  const { url, headers } = placeOf(callbackToken)

  assert.deepEqual(await names(await enter(t, callbackToken)), [
    'agent_cancel',
    'agent_reply',
    'agent_result',
    'agent_status',
    'delegate_task',
  ])
  for (const path of ['/mcp', '/mcp/wide', '/api/tools', '/api/wide/tools'])
    assert.equal((await fetch(new URL(path, url), { method: 'POST', headers })).status, 401, path)
})

test('nobody is let in for a task of whose owner nothing is known', async t => {
  const around = await setting(t)
  const [agent] = around.settings
  const caller = { owner: 'o', issuer: '', subject: 's', parent: undefined }

  assert.ok(agent)
  assert.equal(around.callback.open({ task: 't', root: 't', depth: 0, caller, agent }), undefined)
})
