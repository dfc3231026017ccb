import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config/index.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { isObject } from '../../src/plugin.ts'
import { cleanup } from '../../test/fixtures/cleanup.ts'

const FILE = fileURLToPath(new URL('gateway.yaml', import.meta.url))

test('the example delegates, routes by the type of a task, and lets its agent call back', async t => {
  const loaded = await loadConfig({
    file: FILE,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    environment: {},
  })
  const source = { ...loaded, config: { ...loaded.config, listeners: {} } }
  const gateway = await createGateway(source, { environment: { PATH: process.env.PATH } })
  const awake = setInterval(() => undefined, 1000)
  cleanup(t, async () => {
    await gateway.close()
    clearInterval(awake)
  })
  await gateway.start()
  await gateway.settled()
  const client = await gateway.connect()
  const delegate = async (args: object): Promise<unknown[]> => {
    const { structuredContent } = await client.request('tools/call', {
      name: 'delegate_task',
      arguments: { ...args },
    })
    assert.ok(isObject(structuredContent))
    return [structuredContent.agent, structuredContent.routed_by, structuredContent.text]
  }

  assert.deepEqual(await delegate({ prompt: 'hello' }), ['scripted', 'default', 'You said: hello'])
  const [agent, by] = await delegate({ prompt: 'look', task_type: 'review' })
  assert.deepEqual([agent, by], ['second', 'rule:reviews'])
  const [, , tools] = await delegate({ prompt: '[[mcp-list]]' })
  assert.match(String(tools), /^memory__\S+( memory__\S+)*$/)
})
