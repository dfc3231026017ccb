import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestClient } from '../../../src/testing/index.ts'
import { taskServer } from '../../fixtures/tasks.ts'
import { hashOf } from '../rules/keys.ts'
import { begin, DECLARED, until } from './setting.ts'

const SCOPE = 'files:delete'
const AUTH = {
  keys: [
    { name: 'full', principal: 'ada', hash: hashOf('full'), scopes: [SCOPE] },
    { name: 'lesser', principal: 'ada', hash: hashOf('lesser') },
  ],
  rules: [{ upstreams: 't', scopes: [SCOPE] }],
}
const LEGACY = { elicitation: { form: {} }, tasks: {} }
const INPUT = { inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } }

type Era = 'modern' | 'legacy'

/** A gateway with clients of one caller, with keys of which only the first may use the server's tools. */
async function setting(t: TestContext, era: Era) {
  const server = closeAfter(t, await taskServer(era))
  const upstreams = { t: { type: 'http', url: server.url, prefix: '' } }
  const gateway = closeAfter(t, await testGateway({ config: { auth: AUTH, upstreams } }))
  const client = async (key: string): Promise<TestClient> => {
    const headers = { authorization: `Bearer ${key}` }
    const capabilities = era === 'modern' ? DECLARED : LEGACY
    return closeAfter(t, await testClient(gateway, { era, headers, capabilities }))
  }
  return { gateway: gateway.gateway, client }
}

/** Two clients of one caller, of which only the first may use the server's tools. */
async function clients(t: TestContext, era: Era): Promise<readonly [TestClient, TestClient]> {
  const { client } = await setting(t, era)
  return [await client('full'), await client('lesser')]
}

const METHODS: Readonly<Record<Era, Readonly<Record<string, JsonObject>>>> = {
  modern: { 'tasks/get': {}, 'tasks/update': INPUT },
  legacy: { 'tasks/get': {}, 'tasks/result': {} },
}

for (const era of ['modern', 'legacy'] as const)
  describe(`a ${era} task, and a key of the same caller that may not use its tool`, () => {
    for (const [method, params] of Object.entries(METHODS[era]))
      test(`${method} says what is missing`, async t => {
        const [full, lesser] = await clients(t, era)
        const taskId = await begin(full, 'confirm_delete', { filename: 'plans.txt' })

        const { status, error, headers } = await lesser.request(method, { taskId, ...params })

        assert.deepEqual(error?.data, { code: 'GW_FORBIDDEN', scopes: [SCOPE] })
        assert.match(error.message, /^the task's tool requires the scope files:delete/)
        assert.equal(status, 403)
        assert.match(String(headers['www-authenticate']), /error="insufficient_scope", scope="files:delete"/)
      })

    test('tasks/cancel ends it all the same', async t => {
      const [full, lesser] = await clients(t, era)
      const taskId = await begin(full, 'confirm_delete', { filename: 'plans.txt' })

      assert.equal((await lesser.request('tasks/cancel', { taskId })).error, undefined)
      assert.equal((await until(full, taskId, 'cancelled')).status, 'cancelled')
    })

    if (era === 'legacy')
      test('tasks/list leaves it out', async t => {
        const [full, lesser] = await clients(t, era)
        const taskId = await begin(full, 'confirm_delete', { filename: 'plans.txt' })
        const listed = async (client: TestClient): Promise<unknown> =>
          ((await client.request('tasks/list', {})).result?.tasks as JsonObject[]).map(task => task.taskId)

        assert.deepEqual([await listed(full), await listed(lesser)], [[taskId], []])
      })
  })
