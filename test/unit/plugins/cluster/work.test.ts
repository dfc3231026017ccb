import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { taskServer } from '../../../fixtures/tasks.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { replicas } from './setting.ts'

const EVERYTHING = fileURLToPath(new URL('../../../fixtures/everything.mjs', import.meta.url))
const FORM = { elicitation: { form: {} } }
const TASKS = 'io.modelcontextprotocol/tasks'

test(
  'a call that waits for its client and a hosted task are found from any replica, and gone with theirs',
  { skip },
  async t => {
    const tasks = await taskServer('legacy')
    cleanup(t, () => tasks.stop())
    const all = {
      type: 'stdio',
      command: process.execPath,
      args: [EVERYTHING, '--stdio', '--era', 'legacy'],
      prefix: '',
    }
    const upstreams = { all, job: { type: 'http', url: tasks.url } }
    const shape = { tools: { job__slow_compute: { patience: '20ms' } } }
    const { gateways } = await replicas(t, 2, { upstreams, shape })
    const capabilities = { ...FORM, extensions: { [TASKS]: {} } }
    const clients = gateways.map(({ url }) => testClient(url, { capabilities }))
    const [one, other] = (await Promise.all(clients)) as [TestClient, TestClient]
    for (const client of [one, other]) closeAfter(t, client)

    await answersElsewhere(one, other)
    const call = { name: 'job__slow_compute', arguments: { seconds: 30 } }
    const { taskId } = (await one.request('tools/call', call)).result ?? {}
    assert.match(String(taskId), /^r[0-9a-f]{16}\./)
    const seen = await other.request('tasks/get', { taskId })
    assert.equal(seen.result?.status, 'working', JSON.stringify(seen))

    await gateways[0]?.gateway.close()
    const gone = await other.request('tasks/get', { taskId })
    assert.notEqual(gone.error, undefined)
  },
)

/** A call asks its client at one replica, and is answered at the other. */
async function answersElsewhere(one: TestClient, other: TestClient): Promise<void> {
  const asked = { name: 'test_elicitation', arguments: { message: 'who' } }
  const { result: wish } = await one.request('tools/call', asked)
  assert.equal(wish?.resultType, 'input_required', JSON.stringify(wish))
  const [key] = Object.keys(wish.inputRequests as JsonObject)
  const inputResponses = { [String(key)]: { action: 'accept', content: { username: 'ann' } } }
  const retry = { ...asked, requestState: wish.requestState, inputResponses }
  const answered = await other.request('tools/call', retry)
  assert.match(JSON.stringify(answered.result), /action=accept.*ann/)
}
