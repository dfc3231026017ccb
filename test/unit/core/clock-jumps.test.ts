import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const HOUR_MS = 3_600_000
const MODERN = { era: 'modern', capabilities: { elicitation: { form: {} } } } as const

/** Sets the system clock as the process sees it; timers and the monotonic clock go on, as they do in life. */
function setClock(t: TestContext, byMs: number): void {
  const now = Date.now.bind(Date)
  t.mock.method(Date, 'now', () => now() + byMs)
}

/** Asks once for a name, then greets. */
function greet(_args: JsonObject, { params }: { params: JsonObject }): unknown {
  const { inputResponses } = params
  if (isObject(inputResponses)) return 'hello'
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const ask = { method: 'elicitation/create', params: { mode: 'form', message: 'Name?', requestedSchema } }
  return { resultType: 'input_required', inputRequests: { name: ask }, requestState: 'asked' }
}

for (const [jump, byMs] of [
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
] as const)
  describe(`when the system clock is set an hour ${jump}`, () => {
    test('a sealed handle is still taken', async t => {
      const web = closeAfter(t, await testUpstream({ era: 'modern', tools: { greet } }))
      const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
      const client = closeAfter(t, await testClient(gateway, MODERN))
      const wanted = (await client.request('tools/call', { name: 'web__greet', arguments: {} })).result
      assert.equal(wanted?.resultType, 'input_required')

      setClock(t, byMs)
      const inputResponses = { name: { action: 'accept', content: { name: 'ada' } } }
      const { requestState } = wanted
      const { result, error } = await client.request('tools/call', {
        name: 'web__greet',
        arguments: {},
        requestState,
        inputResponses,
      })

      assert.deepEqual(result?.content, [{ type: 'text', text: 'hello' }], error?.message)
    })

    test('sessions, cached answers and limits go on as if nothing had happened', async t => {
      const web = closeAfter(t, await testUpstream({ tools: { read: () => 'read', kept: () => 'kept' } }))
      const config = {
        cache: { tools: { web__kept: '1m' } },
        rateLimit: { rules: { calls: { tools: 'web__read', perMinute: 4 } } },
      }
      const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config }))
      const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
      const calls = async (count: number): Promise<boolean[]> => {
        const done: boolean[] = []
        for (let n = 0; n < count; n++)
          done.push((await client.request('tools/call', { name: 'web__read', arguments: {} })).error === undefined)
        return done
      }
      const kept = (): Promise<unknown> => client.request('tools/call', { name: 'web__kept', arguments: {} })
      assert.deepEqual(await calls(2), [true, true])
      await kept()

      setClock(t, byMs)

      assert.deepEqual(await calls(3), [true, true, false])
      await kept()
      assert.equal(web.listCalls('tools/call').filter(({ params }) => params?.name === 'kept').length, 1)
    })
  })
