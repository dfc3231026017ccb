import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { begin, taskSetting, TASKS, until } from './setting.ts'

const ERAS = ['modern', 'legacy'] as const

const said = (text: string): JsonObject => ({ content: [{ type: 'text', text }], isError: false })

for (const era of ERAS) {
  describe(`tasks of a ${era} client at a server of its era`, { concurrency: true }, () => {
    test('end with the result of the call', async t => {
      const { modern, legacy } = await taskSetting(t, era)
      const client = era === 'modern' ? modern : await legacy()

      const taskId = await begin(client, 'slow_compute', { seconds: 0.1, label: 'x' })
      const done = await until(client, taskId)

      assert.equal(done.status, 'completed')
      assert.equal(done.taskId, taskId)
      const result = era === 'modern' ? done.result : (await client.request('tasks/result', { taskId })).result
      const related = { 'io.modelcontextprotocol/related-task': { taskId } }
      assert.deepEqual(
        result,
        era === 'modern'
          ? { resultType: 'complete', ...said('computed x') }
          : { ...said('computed x'), _meta: related },
      )
      if (era === 'modern') assert.equal(done.resultType, 'complete')
    })

    test('have the times and names of their era', async t => {
      const { modern, legacy } = await taskSetting(t, era)
      const client = era === 'modern' ? modern : await legacy()
      const task = { task: { ttl: 600_000 } }

      const { result } = await client.request('tools/call', {
        name: 'slow_compute',
        arguments: { seconds: 1 },
        ...(era === 'legacy' ? task : {}),
      })

      if (era === 'modern') {
        assert.equal(result?.resultType, 'task')
        assert.equal(result?.ttlMs, 600_000)
        assert.equal('task' in (result ?? {}), false)
        assert.equal('ttl' in (result ?? {}), false)
      } else {
        const { ttl, pollInterval } = result?.task as JsonObject
        assert.equal(ttl, 600_000)
        assert.equal(typeof pollInterval, 'number')
      }
    })

    test('are cancelled at the server', async t => {
      const { modern, legacy, server } = await taskSetting(t, era)
      const client = era === 'modern' ? modern : await legacy()
      const taskId = await begin(client, 'slow_compute', { seconds: 60 })

      const { result } = await client.request('tasks/cancel', { taskId })

      await server.waitForCall('tasks/cancel')
      if (era === 'modern')
        assert.deepEqual(
          Object.keys(result ?? {}).filter(key => key !== '_meta'),
          ['resultType'],
        )
      else assert.equal(result?.status, 'cancelled')
      assert.equal((await until(client, taskId, 'cancelled')).status, 'cancelled')
    })

    test('that fail say why', async t => {
      const { modern, legacy } = await taskSetting(t, era)
      const client = era === 'modern' ? modern : await legacy()

      const taskId = await begin(client, 'protocol_error_job')
      const done = await until(client, taskId)
      const error = era === 'modern' ? done.error : (await client.request('tasks/result', { taskId })).error

      assert.equal(done.status, 'failed')
      assert.deepEqual(error, { code: -32603, message: 'the job broke' })
    })

    test('are unknown under any other id', async t => {
      const { modern, legacy, server } = await taskSetting(t, era)
      const client = era === 'modern' ? modern : await legacy()
      const taskId = await begin(client, 'slow_compute', { seconds: 60 })
      const flipped = (taskId.startsWith('A') ? 'B' : 'A') + taskId.slice(1)
      const methods = era === 'modern' ? ['get', 'update', 'cancel'] : ['get', 'result', 'cancel']

      for (const method of methods)
        for (const forged of [flipped, `${taskId}A`, taskId.slice(0, -4), 'task-1', ''])
          assert.equal(
            (await client.request(`tasks/${method}`, { taskId: forged, inputResponses: {} })).error?.code,
            -32602,
            `${method} ${forged}`,
          )

      assert.equal(server.listCalls('tasks/cancel').length, 0)
    })

    test('are not for a tool that never is one', async t => {
      const { modern, legacy } = await taskSetting(t, era)
      const params = { name: 'greet', arguments: { name: 'you' } }

      if (era === 'modern')
        assert.deepEqual((await modern.request('tools/call', params)).result?.content, said('Hello, you!').content)
      else assert.equal((await (await legacy()).request('tools/call', { ...params, task: {} })).error?.code, -32601)
    })
  })
}

const WITHOUT_TASKS = [
  ['plain', 'modern'],
  ['plain', 'legacy'],
  ['modern', 'legacy'],
  ['legacy', 'modern'],
  ['legacy', 'legacy'],
] as const

for (const [name, serverEra] of WITHOUT_TASKS)
  test(`a ${name} client gets the result of a task at a ${serverEra} server, after progress`, async t => {
    const setting = await taskSetting(t, serverEra)
    const client = name === 'legacy' ? await setting.legacy() : setting[name]
    const isAsked = name === 'legacy' && serverEra === 'modern'

    const { result, notifications } = await client.request('tools/call', {
      name: 'failing_job',
      arguments: {},
      _meta: { progressToken: 'p' },
      // A server without tasks of the client's era ignores the request (2025-11-25, tasks).
      ...(isAsked ? { task: {} } : {}),
    })

    assert.deepEqual(result?.content, [{ type: 'text', text: 'it went wrong' }])
    assert.equal(result?.isError, true)
    assert.ok(setting.server.listCalls('tasks/get').length > 0)
    const values = notifications.map(({ params }) => Number(params?.progress))
    assert.ok(values.length > 0)
    assert.deepEqual(
      values,
      [...values].sort((a, b) => a - b),
    )
  })

test('a modern client that does not declare tasks is refused every method of theirs', async t => {
  const { plain } = await taskSetting(t, 'modern')

  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { error, status } = await plain.request(method, { taskId: 'x' })
    assert.equal(error?.code, -32021)
    assert.deepEqual(error?.data, { requiredCapabilities: { extensions: { [TASKS]: {} } } })
    assert.equal(status, 400)
  }
})
