import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { gateway } from '../cli/run.ts'
import { skipOne, twoWorkers, until } from './setting.ts'

const AGENT = fileURLToPath(new URL('../../fixtures/acp/agent.ts', import.meta.url))
const TASKS = 'io.modelcontextprotocol/tasks'

function agent(settings: object): object {
  return { command: process.execPath, args: ['--disable-warning=ExperimentalWarning', AGENT], ...settings }
}

async function tool(client: TestClient, name: string, args: JsonObject): Promise<JsonObject> {
  const { result, error } = await client.request('tools/call', { name, arguments: args })
  if (result?.structuredContent === undefined) throw new Error(JSON.stringify(error ?? result))
  return result.structuredContent as JsonObject
}

test('agents work for the clients of all workers', { skip: process.platform === 'win32' }, async t => {
  const web = closeAfter(t, await testUpstream({ tools: { echo: ({ say }) => `echo ${String(say)}` } }))
  const callback = { tools: ['web__echo', 'delegate_task', 'agent_reply'], maxDepth: 1 }
  const list = {
    ada: agent({ callback, priority: 1 }),
    bob: agent({ callback, permissions: { default: 'ask' } }),
  }
  const { url, cwd, child, ps } = await twoWorkers(t, {
    agents: { list },
    upstreams: { web: { type: 'http', url: web.url } },
  })
  /** A client whose connection is the next worker's. */
  const next = async (options = {}): Promise<TestClient> => {
    const client = await testClient(url, options)
    cleanup(t, () => client.close())
    return client
  }

  await t.test('each worker gives them tasks, and each is a way back for them', async () => {
    for (let turn = 0; turn < 4; turn++) {
      const client = await next()
      const echoed = await tool(client, 'delegate_task', { prompt: `[[mcp web__echo {"say":"${turn}"}]]` })
      assert.deepEqual([echoed.text, echoed.agent, echoed.warnings], [`echo ${turn}`, 'ada', []])
      if (turn === 1) await skipOne(url)
    }
    const inner = JSON.stringify({ prompt: 'hi there', agent: 'bob' })
    const nested = await tool(await next(), 'delegate_task', { prompt: `[[mcp delegate_task ${inner}]]` })
    assert.match(String(nested.text), /You said: hi there/)
  })

  await t.test('a task that was begun at one worker is known at the other', async () => {
    const capabilities = { extensions: { [TASKS]: {} } }
    const { result } = await (
      await next({ capabilities })
    ).request('tools/call', {
      name: 'delegate_task',
      arguments: { prompt: '[[hang]]' },
    })
    const { taskId } = result as { taskId: string }
    for (let turn = 0; turn < 4; turn++) {
      const client = await next({ capabilities })
      const seen = await client.request('tasks/get', { taskId })
      assert.equal(seen.result?.status, 'working', JSON.stringify(seen))
      if (turn === 1) await skipOne(url)
    }
    const client = await next({ capabilities })
    await client.request('tasks/cancel', { taskId })
    await skipOne(url)
    await until(async () => (await client.request('tasks/get', { taskId })).result?.status === 'cancelled')
  })

  await t.test('what one asks is answered through either worker, and never by itself', async () => {
    const prompt = '[[ask edit a.txt]]'
    const waiting = await tool(await next(), 'delegate_task', { prompt, agent: 'bob' })
    assert.equal(waiting.state, 'input_required')
    const reply = JSON.stringify({ task_id: waiting.task_id, content: { decision: 'allow' } })
    for (let turn = 0; turn < 2; turn++) {
      const tried = await tool(await next(), 'delegate_task', { prompt: `[[mcp agent_reply ${reply}]]` })
      assert.match(String(tried.text), /Unknown task/)
    }
    const declined = { task_id: waiting.task_id, action: 'decline' }
    const ended = await tool(await next(), 'agent_reply', declined)
    assert.match(String(ended.text), /rejected|cancelled/)
  })

  await t.test('what one asks its client on the way may be answered through the other worker', async () => {
    const name = 'delegate_task'
    const args = { prompt: '[[elicit really?]]', agent: 'bob' }
    for (let turn = 0; turn < 2; turn++) {
      const client = await next({ capabilities: { elicitation: { form: {} } } })
      const { result: wish } = await client.request('tools/call', { name, arguments: args })
      assert.equal(wish?.resultType, 'input_required', JSON.stringify(wish))
      const [key] = Object.keys(wish.inputRequests as JsonObject)
      const inputResponses = { [String(key)]: { action: 'accept', content: { answer: `yes ${turn}` } } }
      if (turn === 1) await skipOne(url)
      const retried = { name, arguments: args, requestState: wish.requestState, inputResponses }
      const { result } = await client.request('tools/call', retried)
      assert.match(JSON.stringify(result), new RegExp(`accept.*yes ${turn}`))
    }
  })

  await t.test('their owner sees them once', async () => {
    const { stdout } = await gateway(['agents', 'list', '--json'], { cwd })
    const { agents } = JSON.parse(stdout) as { agents: { id: string }[] }
    assert.deepEqual(agents.map(({ id }) => id).sort(), ['ada', 'bob'])
  })

  await t.test('a call that waits for one is answered when the gateway stops', async () => {
    const client = await next({ era: 'legacy' })
    const { result } = await client.request('tools/call', {
      name: 'delegate_task',
      arguments: { prompt: '[[hang]]', background: true },
    })
    const { task_id } = result?.structuredContent as { task_id: string }
    const waiting = tool(client, 'agent_status', { task_id, wait_ms: 45_000 })
    await until(async () => (await ps()).workers.some(({ running }) => running > 0))
    child.kill('SIGTERM')
    assert.equal((await waiting).task_id, task_id)
  })
})
