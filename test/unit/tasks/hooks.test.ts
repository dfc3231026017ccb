import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject, Plugin } from '../../../src/plugin.ts'
import { answer } from '../../../src/plugin.ts'
import type { TestClient } from '../../../src/testing/index.ts'
import { begin, taskSetting, until } from './setting.ts'

const ERAS = ['modern', 'legacy'] as const

interface Redacting {
  readonly plugin: Plugin<never>
  readonly tools: unknown[]
}

/** Keeps back what tools answer, and notes whose answers it has seen. */
function redacting(keep: () => ReturnType<typeof answer> = () => answer(text('redacted'))): Redacting {
  const tools: unknown[] = []
  const plugin: Plugin<never> = {
    name: 'redacting',
    setup({ hooks }) {
      hooks.response.tap({ methods: ['tools/call'] }, (given, { method, params, route }) => {
        if (!('result' in given)) return given
        tools.push([method, params?.name, route?.to])
        return keep()
      })
    },
  }
  return { plugin, tools }
}

const text = (said: string): JsonObject => ({ content: [{ type: 'text', text: said }] })

for (const era of ERAS) {
  test(`a hook for answers of tools sees what comes of a ${era} task`, async t => {
    const { plugin, tools } = redacting()
    const client = await clientOf(t, era, plugin)

    const taskId = await begin(client, 'slow_compute', { seconds: 0.05, label: 'secret' })
    const done = await until(client, taskId)
    const result = era === 'modern' ? done.result : (await client.request('tasks/result', { taskId })).result

    assert.equal(done.status, 'completed')
    assert.deepEqual((result as JsonObject).content, text('redacted').content)
    assert.doesNotMatch(JSON.stringify([done, result]), /secret/)
    assert.deepEqual(tools[0], ['tools/call', 'slow_compute', 'one'])
  })
}

describe('a hook for answers of tools', { concurrency: true }, () => {
  for (const era of ERAS) {
    test(`that fails keeps back what came of a ${era} task`, async t => {
      const fail = (): never => {
        throw new Error('no')
      }
      const client = await clientOf(t, era, redacting(fail).plugin)
      const taskId = await begin(client, 'slow_compute', { seconds: 0.05, label: 'secret' })

      if (era === 'modern') await assert.rejects(until(client, taskId), /redacting|failed|internal/i)
      else {
        await until(client, taskId)
        const { error, result } = await client.request('tasks/result', { taskId })
        assert.equal(result, undefined)
        assert.equal(typeof error?.code, 'number')
      }
    })
  }
})

async function clientOf(t: TestContext, era: 'modern' | 'legacy', plugin: Plugin<never>): Promise<TestClient> {
  const { modern, legacy } = await taskSetting(t, era, [plugin])
  return era === 'modern' ? modern : legacy()
}
