import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { answer, type Answer, type Call, type JsonObject, type Plugin } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestReply } from '../../../../src/testing/index.ts'
import { until } from '../../../fixtures/until.ts'

const ASK = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }
const CAPABILITIES = { elicitation: { form: {} } }

/** A server whose tool `ask` asks its client and then works until it may end, as `slow` does at once. */
class Server {
  working = 0
  #ends: (() => void)[] = []

  readonly plugin: Plugin<never> = {
    name: 'serving',
    setup: ({ hooks }) => {
      hooks.dispatch.tap(next => call => (call.method === 'tools/call' ? this.#serve(call) : next(call)))
    },
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  async #serve({ params, exchange }: Call): Promise<Answer> {
    if (params?.name === 'ask') await exchange.ask(ASK)
    if (params?.name !== 'quick') await this.#work()
    return answer({ content: [] })
  }

  async #work(): Promise<void> {
    this.working++
    await new Promise<void>(resolve => this.#ends.push(resolve))
    this.working--
  }
}

async function setting(t: TestContext, rule: JsonObject, more: JsonObject = {}) {
  const server = new Server()
  const tool = (): string => 'never reached'
  const tools = { ask: tool, slow: tool, quick: tool }
  const upstream = closeAfter(t, await testUpstream({ era: 'legacy', tools }))
  const config = { rateLimit: { rules: { each: rule } }, ...more }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream }, plugins: [server.plugin], config }))
  const client = closeAfter(t, await testClient(gateway, { era: 'modern', capabilities: CAPABILITIES }))
  const call = (name: string, params: JsonObject = {}): Promise<TestReply> =>
    client.request('tools/call', { name: `a__${name}`, arguments: {}, ...params })
  return { server, client, call }
}

const isRefused = ({ error }: TestReply): boolean => (error?.data as JsonObject | undefined)?.code === 'GW_RATE_LIMITED'

/** The retry of a call that was answered with a question. */
function retryOf({ result }: TestReply): JsonObject {
  const { inputRequests, requestState } = result as { inputRequests: JsonObject; requestState: string }
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests).map(key => [key, { action: 'accept', content: {} }]),
  )
  return { requestState, inputResponses }
}

const RULES = {
  'of requests': { inFlight: 1 },
  'of calls': { tools: '*', inFlight: 1 },
}

for (const [which, rule] of Object.entries(RULES))
  describe(`a limit ${which} that are under way`, () => {
    test('does not count a call whose client is asked, and counts it again once it goes on', async t => {
      const { server, call } = await setting(t, rule)
      const asked = await call('ask')
      assert.equal(asked.result?.resultType, 'input_required')
      for (let time = 0; time < 3; time++) assert.equal(isRefused(await call('quick')), false)

      const retried = call('ask', retryOf(asked))
      await until(() => server.working === 1)
      assert.equal(isRefused(await call('quick')), true)
      server.end()

      assert.equal((await retried).error, undefined)
      assert.equal(isRefused(await call('quick')), false)
    })
  })

test('a limit of calls counts a call that goes on after its client was answered', async t => {
  const patience = { shape: { tools: { a__slow: { patience: '20ms' } } } }
  const { server, call } = await setting(t, RULES['of calls'], patience)
  const begun = await call('slow')
  assert.equal(begun.error, undefined)
  assert.equal(server.working, 1)

  assert.equal(isRefused(await call('quick')), true)
  server.end()
  await until(() => server.working === 0)

  assert.equal(isRefused(await call('quick')), false)
})
