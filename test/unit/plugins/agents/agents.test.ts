import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { agentsSetting, told, tool } from './setting.ts'
import { until } from '../../../fixtures/until.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const DECLARED = { elicitation: { form: {} }, extensions: { [TASKS]: {} } }

test('a task begun before a restart is found again by its id, and goes on in its session when its owner says so', async t => {
  const setting = await agentsSetting(t)
  const log = join(setting.directory, 'log')
  const agents = { list: { ada: setting.agent({}, '--log', log) } }
  const first = await setting.start(agents)
  const client = await setting.client(first.url, { capabilities: DECLARED })
  const { result: begun } = await client.request('tools/call', {
    name: 'delegate_task',
    arguments: { prompt: '[[say before]][[mark there]][[hang]]' },
  })
  const { taskId } = begun as { taskId: string }
  await until(async () => (await readFile(log, 'utf8').catch(() => '')).includes('"mark":"there"'))

  await first.gateway.close()
  const second = await setting.start(agents)
  const again = await setting.client(second.url, { capabilities: DECLARED })
  const { result: cut } = await again.request('tasks/get', { taskId })
  assert.equal(cut?.status, 'input_required', JSON.stringify(cut))
  const [question] = Object.keys(cut.inputRequests as JsonObject)
  const answer = { action: 'accept', content: { message: '[[say and after]][[history]]' } }
  await again.request('tasks/update', { taskId, inputResponses: { [String(question)]: answer } })
  let ended: JsonObject = {}
  await until(async () => {
    ended = (await again.request('tasks/get', { taskId })).result ?? {}
    return ended.status !== 'working'
  })

  assert.equal(ended.status, 'completed', JSON.stringify(ended))
  const { text } = told(ended.result)
  assert.match(String(text), /before/)
  assert.match(String(text), /and after/)
})

test('an agent calls a tool of the gateway, and another agent, through its own door', async t => {
  const setting = await agentsSetting(t)
  const web = closeAfter(t, await testUpstream({ tools: { echo: ({ say }) => `echo ${String(say)}`, drop: () => '' } }))
  const callback = { tools: ['web__echo', 'delegate_task', 'agent_reply'], maxDepth: 1 }
  const list = {
    ada: setting.agent({ callback }),
    bob: setting.agent({ callback }),
    mute: setting.agent({ callback }, '--ignore-mcp'),
  }
  const { url } = await setting.start({ list }, { upstreams: { web: { type: 'http', url: web.url } } })
  const client = await setting.client(url)
  const run = (prompt: string, more: JsonObject = {}): Promise<JsonObject> =>
    tool(client, 'delegate_task', { prompt, ...more })

  const echoed = await run('[[mcp web__echo {"say":"hi"}]]')
  assert.deepEqual([echoed.text, echoed.agent, echoed.warnings], ['echo hi', 'ada', []])
  const listed = await run('[[mcp-list]]')
  assert.equal(listed.text, 'web__echo delegate_task agent_reply')
  const inner = JSON.stringify({ prompt: 'hi there', agent: 'bob' })
  const nested = await run(`[[mcp delegate_task ${inner}]]`)
  assert.match(String(nested.text), /You said: hi there/)
  const silent = await run('hello', { agent: 'mute' })
  assert.match(String(silent.warnings), /did not connect/)
})

test('a reload keeps the agents that are as they were, and what they work on', async t => {
  const setting = await agentsSetting(t)
  const listeners = { main: { type: 'http', port: 0 } }
  const { url, gateway } = await setting.start({ list: { ada: setting.agent() } })
  const client = await setting.client(url)
  const going = await tool(client, 'delegate_task', { prompt: '[[sleep 400]][[say kept]]', background: true })

  const list = { bob: setting.agent(), ada: setting.agent() }
  await gateway.reload({ version: 1, listeners, agents: { roots: ['work'], prefix: 'x_', list } })

  const names = (await client.request('tools/list')).result?.tools as { name: string }[]
  assert.equal(names[0]?.name, 'x_delegate_task')
  const ended = await tool(client, 'x_agent_status', { task_id: going.task_id, wait_ms: 20_000 })
  assert.equal(ended.text, 'kept')
  assert.equal((await tool(client, 'x_delegate_task', { prompt: 'hi' })).agent, 'bob')
})

test('nothing is left of the agents when the gateway has closed, and foreground work is cancelled', async t => {
  const setting = await agentsSetting(t)
  const { url, gateway } = await setting.start({ list: { ada: setting.agent() } })
  const client = await setting.client(url)
  const { text } = await tool(client, 'delegate_task', { prompt: '[[pid]]' })
  const waiting = client.request('tools/call', { name: 'delegate_task', arguments: { prompt: '[[hang]]' } })
  await until(async () => JSON.stringify(await gateway.control('agents.list')).includes('"running":1'))

  await Promise.all([gateway.close(), waiting.catch(() => undefined)])

  assert.throws(() => process.kill(Number(/\d+/.exec(String(text))?.[0] ?? 0), 0), { code: 'ESRCH' })
  const next = await setting.start({ list: { ada: setting.agent() } })
  const { tasks } = await tool(await setting.client(next.url), 'agent_status', {})
  assert.deepEqual(
    (tasks as JsonObject[]).map(({ state }) => state),
    ['cancelled', 'completed'],
  )
})
