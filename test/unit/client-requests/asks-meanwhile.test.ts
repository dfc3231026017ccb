import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, type Plugin } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const ASK = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }
const CALL = { name: 'a__ask', arguments: { x: 1 } }

test('a modern client hears with its retry what the call said while it was thinking, the newest 64 at most', async t => {
  let tell: ((progress: number) => void) | undefined
  const asking: Plugin<never> = {
    name: 'asking',
    setup({ hooks }) {
      hooks.dispatch.tap(next => async call => {
        if (call.method !== 'tools/call') return next(call)
        tell = progress =>
          call.exchange.emit({ method: 'notifications/progress', params: { progressToken: 'old', progress } })
        await call.exchange.ask(ASK)
        return answer({ content: [] })
      })
    },
  }
  const upstream = closeAfter(t, await testUpstream({ era: 'legacy', tools: { ask: () => 'never reached' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream }, plugins: [asking] }))
  const client = closeAfter(
    t,
    await testClient(gateway, { era: 'modern', capabilities: { elicitation: { form: {} } } }),
  )
  const first = await client.request('tools/call', { ...CALL, _meta: { progressToken: 'old' } })

  for (let progress = 1; progress <= 70; progress++) tell?.(progress)
  const second = await client.request('tools/call', {
    ...CALL,
    requestState: first.result?.requestState,
    inputResponses: { 'ask-1': { action: 'accept' } },
    _meta: { progressToken: 'new' },
  })

  assert.deepEqual(
    second.notifications.map(({ params }) => [params?.progressToken, params?.progress]),
    Array.from({ length: 64 }, (_, index) => ['new', index + 7]),
  )
})
