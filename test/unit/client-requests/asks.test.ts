import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Answer, AskReply, Call, JsonObject, Plugin } from '../../../src/plugin.ts'
import { answer, Payload } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestClient } from '../../../src/testing/index.ts'

const ASK = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }
const CAPABILITIES = { elicitation: { form: {} } }

type Serve = (call: Call) => Promise<Answer>

/** A plugin that is the server of `a`: what it answers is up to the test. */
function serving(serve: Serve): Plugin<never> {
  return {
    name: 'serving',
    setup({ hooks }) {
      hooks.dispatch.tap(next => call => (call.method === 'tools/call' ? serve(call) : next(call)))
    },
  }
}

async function setting(
  t: TestContext,
  serve: Serve,
  era: 'legacy' | 'modern',
  more: readonly Plugin<never>[] = [],
): Promise<{ client: TestClient; connect: (capabilities?: JsonObject) => Promise<TestClient> }> {
  const upstream = closeAfter(t, await testUpstream({ era, tools: { ask: () => 'never reached' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream }, plugins: [serving(serve), ...more] }))
  const connect = async (capabilities: JsonObject = CAPABILITIES): Promise<TestClient> =>
    closeAfter(t, await testClient(gateway, { era: 'modern', capabilities }))
  return { client: await connect(), connect }
}

const CALL = { name: 'a__ask', arguments: { x: 1 } }
const said = (reply: AskReply): Answer => answer({ content: [], reply })

describe('a modern client in front of a legacy server that asks', () => {
  const asking: Serve = async ({ exchange }) => said(await exchange.ask(ASK))

  test('gets the ask as input, and its retry takes the same call up again', async t => {
    const { client } = await setting(t, asking, 'legacy')

    const first = await client.request('tools/call', CALL)
    const { inputRequests, requestState } = first.result as {
      inputRequests: JsonObject
      requestState: string
    }
    const [key] = Object.keys(inputRequests)
    const retry = {
      ...CALL,
      requestState,
      inputResponses: { [String(key)]: { action: 'accept', content: { name: 'Ann' } } },
    }
    const second = await client.request('tools/call', retry)

    assert.equal(first.result?.resultType, 'input_required')
    assert.deepEqual(Object.values(inputRequests), [ASK])
    assert.deepEqual(second.result?.reply, { result: { action: 'accept', content: { name: 'Ann' } } })
  })

  test('gets asks that come together together, and those that come later later', async t => {
    const { client } = await setting(
      t,
      async ({ exchange }) => {
        const both = await Promise.all([exchange.ask(ASK), exchange.ask(ASK)])
        return answer({ content: [], replies: [...both, await exchange.ask(ASK)] })
      },
      'legacy',
    )
    let reply = await client.request('tools/call', CALL)
    const rounds: number[] = []
    while (reply.result?.resultType === 'input_required') {
      const { inputRequests, requestState } = reply.result as {
        inputRequests: JsonObject
        requestState: string
      }
      rounds.push(Object.keys(inputRequests).length)
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, { action: 'decline' }]))
      reply = await client.request('tools/call', { ...CALL, requestState, inputResponses })
    }
    assert.deepEqual(rounds, [2, 1])
    assert.equal((reply.result?.replies as unknown[]).length, 3)
  })

  test('is asked again for what it left out', async t => {
    const { client } = await setting(t, asking, 'legacy')
    const first = await client.request('tools/call', CALL)
    const again = await client.request('tools/call', {
      ...CALL,
      requestState: first.result?.requestState,
      inputResponses: {},
    })
    assert.deepEqual(again.result?.inputRequests, first.result?.inputRequests)
    assert.notEqual(again.result?.requestState, first.result?.requestState)
    const earlier = await client.request('tools/call', {
      ...CALL,
      requestState: first.result?.requestState,
      inputResponses: { 'ask-1': { action: 'accept' } },
    })
    assert.equal(earlier.error?.code, -32602)
  })
})

describe('a retry of a parked call', () => {
  const asking: Serve = async ({ exchange }) => said(await exchange.ask(ASK))

  test('cannot use a state twice, for another call, or a forged one', async t => {
    const { client } = await setting(t, asking, 'legacy')
    const { requestState } = (await client.request('tools/call', CALL)).result as { requestState: string }
    const inputResponses = { 'ask-1': { action: 'accept' } }
    const forged = `${requestState.slice(0, -2)}AA`

    const replies = [
      await client.request('tools/call', { ...CALL, arguments: { x: 2 }, requestState, inputResponses }),
      await client.request('tools/call', { ...CALL, requestState: forged, inputResponses }),
      await client.request('tools/call', { ...CALL, requestState, inputResponses }),
      await client.request('tools/call', { ...CALL, requestState, inputResponses }),
    ]

    assert.deepEqual(
      replies.map(({ error }) => error?.code),
      [-32602, -32602, undefined, -32602],
    )
  })

  test('that cannot be asked gets the capability it lacks, and the call ends at the server', async t => {
    let cancelled = ''
    const { connect } = await setting(
      t,
      call => {
        call.onCancel(reason => (cancelled = reason))
        return asking(call)
      },
      'legacy',
    )
    const reply = await (await connect({})).request('tools/call', CALL)
    assert.deepEqual([reply.status, reply.error?.code], [400, -32021])
    assert.deepEqual(reply.error?.data, { requiredCapabilities: { elicitation: { form: {} } } })
    assert.match(cancelled, /does not accept the request/)
  })

  test('is sent to a page by the old error, and the request is made again', async t => {
    let tries = 0
    const { connect } = await setting(
      t,
      async () =>
        ++tries === 1
          ? {
              error: {
                code: -32042,
                message: 'visit',
                data: {
                  elicitations: [{ mode: 'url', url: 'https://x.test', elicitationId: 'e', message: 'go' }],
                },
              },
            }
          : answer({ content: [], tries }),
      'legacy',
    )
    const client = await connect({ elicitation: { url: {} } })
    const first = await client.request('tools/call', CALL)
    const [request] = Object.values(first.result?.inputRequests as JsonObject)
    const second = await client.request('tools/call', {
      ...CALL,
      requestState: first.result?.requestState,
      inputResponses: { 'visit-1': { action: 'accept' } },
    })
    assert.deepEqual(request, {
      method: 'elicitation/create',
      params: { mode: 'url', url: 'https://x.test', message: 'go' },
    })
    assert.equal(second.result?.tries, 2)
  })
})

describe('a modern client in front of a modern server that asks', () => {
  const asking: Serve = async ({ params }) => {
    if (params?.inputResponses !== undefined) return answer({ content: [], params })
    return {
      input: Payload.of({ resultType: 'input_required', inputRequests: { who: ASK }, requestState: 'inner' }, 'modern'),
    }
  }

  test('answers it with the state of the server, which it never sees', async t => {
    const { client } = await setting(t, asking, 'modern')
    const first = await client.request('tools/call', CALL)
    const inputResponses = { who: { action: 'accept' } }
    const second = await client.request('tools/call', {
      ...CALL,
      requestState: first.result?.requestState,
      inputResponses,
    })
    const params = second.result?.params as JsonObject
    assert.notEqual(first.result?.requestState, 'inner')
    assert.deepEqual([params.requestState, params.inputResponses], ['inner', inputResponses])
  })

  test('leaves an ask to a plugin that answers it', async t => {
    const plugin: Plugin<never> = {
      name: 'answering',
      setup({ hooks }) {
        hooks.clientRequest.tap({ methods: ['elicitation/create'] }, () =>
          answer({ action: 'accept', content: { by: 'plugin' } }),
        )
      },
    }
    const { client } = await setting(t, asking, 'modern', [plugin])
    const { result } = await client.request('tools/call', CALL)
    const params = result?.params as JsonObject
    assert.deepEqual(params.inputResponses, { who: { action: 'accept', content: { by: 'plugin' } } })
  })
})
