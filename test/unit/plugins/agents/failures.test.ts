import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { agentsSetting, told, tool } from './setting.ts'

test('a background task without login, with a crash or without a program has failed wherever it is looked at', async t => {
  const setting = await agentsSetting(t)
  const list = {
    poor: setting.agent({}, '--auth', 'key'),
    weak: setting.agent(),
    gone: { command: '/nowhere/agent' },
  }
  const { url } = await setting.start({ list })
  const client = await setting.client(url)
  for (const [agent, prompt, why] of [
    ['poor', 'hello', /auth in session/],
    ['weak', '[[crash 3]]', /crash in/],
  ] as const) {
    const begun = await tool(client, 'delegate_task', { prompt, agent, background: true })
    const about = { task_id: String(begun.task_id) }
    const call = async (name: string, args: JsonObject) =>
      (await client.request('tools/call', { name, arguments: args })).result ?? {}
    const status = await call('agent_status', { ...about, wait_ms: 20_000 })
    const result = await call('agent_result', about)
    const { tasks } = told(await call('agent_status', {}))
    const listed = (tasks as JsonObject[]).find(({ task_id }) => task_id === about.task_id)

    for (const told_ of [told(status), told(result), listed]) {
      assert.deepEqual([told_?.state, told_?.is_error], ['failed', true], agent)
      assert.match(String(told_?.why), why)
    }
    assert.deepEqual([status.isError, result.isError], [true, true])
  }
})

test('a call that waits for a task is answered when the gateway is stopping', async t => {
  const setting = await agentsSetting(t)
  const { url, gateway } = await setting.start({ list: { ada: setting.agent() } }, { shutdown: { grace: 3000 } })
  const client = await setting.client(url)
  const waiting = client.request('tools/call', {
    name: 'delegate_task',
    arguments: { prompt: '[[say so far]][[hang]]' },
  })
  const other = await setting.client(url)
  for (let tasks: unknown[] = []; tasks.length === 0;)
    tasks = (await tool(other, 'agent_status', {})).tasks as unknown[]
  const closed = gateway.close()
  const { result, error } = await waiting

  assert.equal(error, undefined)
  assert.deepEqual([told(result).state, told(result).why], ['cancelled', 'the gateway is stopping'])
  await closed
})
