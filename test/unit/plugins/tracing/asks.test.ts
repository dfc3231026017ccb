import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream } from '../../../../src/testing/index.ts'
import { bench, callSpans } from './kit.ts'

const FORM = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'more?', requestedSchema: { type: 'object', properties: {} } },
}

for (const state of ['of the server', undefined])
  test(`what a modern server asks of a modern client carries the context of the trace, ${state === undefined ? 'without' : 'with'} a state`, async t => {
    const web = closeAfter(
      t,
      await testUpstream({
        era: 'modern',
        tools: { ask: () => '' },
        methods: {
          'tools/call': (_args, { params }) =>
            params.inputResponses === undefined
              ? {
                  resultType: 'input_required',
                  inputRequests: { more: FORM },
                  ...(state === undefined ? {} : { requestState: state }),
                }
              : { content: [] },
        },
      }),
    )
    const { to, url } = await bench(t, { web })
    const capabilities = { elicitation: { form: {} } }
    const client = closeAfter(t, await testClient({ url }, { era: 'modern', capabilities }))
    const first = await client.request('tools/call', { name: 'web__ask', arguments: {} })
    const { more } = (first.result?.inputRequests ?? {}) as { more?: JsonObject }
    const params = isObject(more?.params) ? more.params : {}
    const { _meta: meta, ...rest } = params
    await callSpans(to)
    while (!to.spans.some(({ name }) => name === 'elicitation/create'))
      await new Promise(resolve => setTimeout(resolve, 10))
    const onward = to.spans.find(({ name, kind }) => name === 'elicitation/create' && kind === 3)

    assert.deepEqual(rest, FORM.params)
    assert.equal((meta as JsonObject).traceparent, `00-${onward?.traceId}-${onward?.spanId}-01`)
    const { requestState } = first.result as { requestState?: string }
    const again = {
      name: 'web__ask',
      arguments: {},
      inputResponses: { more: { action: 'accept', content: {} } },
      ...(requestState === undefined ? {} : { requestState }),
    }
    assert.deepEqual((await client.request('tools/call', again)).result?.content, [])
  })
