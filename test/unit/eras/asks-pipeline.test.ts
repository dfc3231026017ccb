import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { answer, type Ask, type JsonObject, type Plugin } from '../../../src/plugin.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'

/** A plugin that asks the client in the middle of a call, as a server of `a`, and answers with the reply. */
function asking(ask: Ask): Plugin<never> {
  return {
    name: 'asking',
    setup({ hooks }) {
      hooks.dispatch.tap(
        next => async call =>
          call.method === 'tools/call'
            ? answer({ content: [], structuredContent: { reply: await call.exchange.ask(ask) } })
            : next(call),
      )
    },
  }
}

/** All that a legacy client of a version is asked, and what the server hears when it gives this result. */
async function asked(t: TestContext, ask: Ask, version: string, result: JsonObject): Promise<[JsonObject, unknown]> {
  const upstream = closeAfter(t, await testUpstream({ era: 'legacy', tools: { ask: () => 'never reached' } }))
  const { gateway } = closeAfter(t, await testGateway({ upstreams: { a: upstream }, plugins: [asking(ask)] }))
  const transport = gateway.transport()
  let question: JsonObject = {}
  const end = new Promise<JsonObject>(resolve => {
    transport.onmessage = message => {
      const { id, method, params, result: final } = message as JsonObject
      if (method === ask.method) {
        question = params as JsonObject
        void transport.send({ jsonrpc: '2.0', id, result } as never)
      } else if (id === 2) resolve(final as JsonObject)
    }
  })
  await transport.start()
  const hello = {
    protocolVersion: version,
    capabilities: { elicitation: {}, sampling: {} },
    clientInfo: { name: 'old', version: '1' },
  }
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello } as never)
  await transport.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'a__ask' } } as never)
  const { structuredContent } = await end
  await transport.close()
  return [question, (structuredContent as { reply?: unknown } | undefined)?.reply]
}

test('a client of 2025-06-18 is asked by a form that it knows, and the server gets the list that it asked for', async t => {
  const items = { anyOf: [{ const: 'r', title: 'Red' }, { const: 'g' }] }
  const many = { type: 'array', title: 'Colours', items, default: ['g'] }
  const one = { type: 'string', oneOf: [{ const: 's', title: 'Small' }] }
  const ask = {
    method: 'elicitation/create',
    params: { message: 'm', requestedSchema: { type: 'object', properties: { many, one }, required: ['many'] } },
  }

  const [question, reply] = await asked(t, ask, '2025-06-18', {
    action: 'accept',
    content: { many: 'g', one: 's' },
  })

  assert.deepEqual(question.requestedSchema, {
    type: 'object',
    properties: {
      many: { type: 'string', title: 'Colours', description: 'separated by commas: r (Red), g', default: 'g' },
      one: { type: 'string', enum: ['s'], enumNames: ['Small'] },
    },
    required: ['many'],
  })
  assert.deepEqual(reply, { result: { action: 'accept', content: { one: 's', many: ['g'] } } })
})
