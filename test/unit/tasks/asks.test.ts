import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type JsonObject } from '../../../src/plugin.ts'
import { v1TaskServer } from '../../fixtures/tasks/sdk-v1.ts'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'
import { begin, DECLARED, settingFor, taskSetting, until, type Setting } from './setting.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ADA = { action: 'accept' as const, content: { name: 'Ada', confirm: true } }

async function v1Client({ gateway }: Setting, t: { after(run: () => Promise<void>): void }): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: { form: {} }, tasks: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ADA)
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))
  cleanup(t, () => client.close())
  return client
}

/** Calls a tool the way the SDK does with tasks; what it saw, and the result's text. */
async function streamed(client: Client, name: string): Promise<{ seen: string[]; said: unknown }> {
  await client.listTools()
  const seen: string[] = []
  let said: unknown
  const stream = client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema)
  for await (const message of stream) {
    seen.push(message.type)
    if (message.type === 'error') throw message.error
    if (message.type === 'result') said = (message.result as { content: JsonObject[] }).content[0]?.text
  }
  return { seen, said }
}

describe("a client of SDK v1 with the SDK's tasks", { concurrency: true }, () => {
  test('runs a task of a server of SDK v1, and answers what it asks', async t => {
    const client = await v1Client(await settingFor(t, await v1TaskServer()), t)

    const { seen, said } = await streamed(client, 'greet')

    assert.equal(seen[0], 'taskCreated')
    assert.equal(said, 'Hello, Ada!')
  })

  test("lists its own tasks and nobody else's", async t => {
    const setting = await settingFor(t, await v1TaskServer())
    const [one, other] = [await v1Client(setting, t), await v1Client(setting, t)]
    const { task } = (await one.request(
      { method: 'tools/call', params: { name: 'hang', arguments: { seconds: 60 }, task: { ttl: 60_000 } } },
      (await import('@modelcontextprotocol/sdk/types.js')).CreateTaskResultSchema,
    )) as { task: { taskId: string } }

    const ids = (await one.experimental.tasks.listTasks()).tasks.map(({ taskId }) => taskId)

    assert.deepEqual(ids, [task.taskId])
    assert.deepEqual((await other.experimental.tasks.listTasks()).tasks, [])
    assert.equal((await one.experimental.tasks.getTask(task.taskId)).status, 'working')
    assert.equal((await one.experimental.tasks.cancelTask(task.taskId)).status, 'cancelled')
  })
})

describe('what a task asks', { concurrency: true }, () => {
  test('of a modern server may be answered in parts', async t => {
    const { modern } = await taskSetting(t, 'modern')
    const taskId = await begin(modern, 'multi_input')
    await until(modern, taskId, 'input_required')

    await modern.request('tasks/update', { taskId, inputResponses: { first: ADA } })
    const rest = await until(modern, taskId, 'input_required')
    await modern.request('tasks/update', { taskId, inputResponses: { second: ADA } })

    assert.deepEqual(Object.keys(rest.inputRequests as JsonObject), ['second'])
    assert.equal((await until(modern, taskId)).status, 'completed')
  })

  test('is a wish for input for a modern client without tasks, and its retry brings the result', async t => {
    const { plain } = await settingFor(t, await v1TaskServer())
    const call = { name: 'greet_always', arguments: {} }

    const { result } = await plain.request('tools/call', call)
    const [key = ''] = Object.keys(result?.inputRequests as JsonObject)
    const { requestState } = result as { requestState: string }
    const retry = await plain.request('tools/call', { ...call, requestState, inputResponses: { [key]: ADA } })

    assert.deepEqual(retry.result?.content, [{ type: 'text', text: 'Hello, Ada!' }])
  })
})

test('what two tasks ask on one pipe goes to the client of each', async t => {
  const args = [fileURLToPath(new URL('../../fixtures/tasks/sdk-v1.ts', import.meta.url))]
  const upstreams = { t: { type: 'stdio', command: process.execPath, args, prefix: '' } }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams } }))
  const names = ['Ada', 'Bob', 'Cyd']

  const said = await Promise.all(
    names.map(async name => {
      const client = closeAfter(t, await testClient(gateway, { capabilities: DECLARED }))
      const call = { name: 'greet_always', arguments: {} }
      const { result } = await client.request('tools/call', call)
      const [key = ''] = Object.keys(result?.inputRequests as JsonObject)
      const inputResponses = { [key]: { action: 'accept', content: { name } } }
      const retry = { ...call, requestState: result?.requestState, inputResponses }
      return (await client.request('tools/call', retry)).result as JsonObject
    }),
  )

  assert.deepEqual(
    said.map(({ content }) => (content as JsonObject[])[0]?.text),
    names.map(name => `Hello, ${name}!`),
  )
})
