import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentsUpstream } from '../../../../../plugins/agents/mcp/upstream.ts'

type Parts = ConstructorParameters<typeof AgentsUpstream>

test('a call to agents that comes before they have started waits for the start', async () => {
  const order: string[] = []
  let go: () => void = () => undefined
  const begun = new Promise<void>(resolve => (go = resolve))
  const runtime = {
    start: async () => {
      await begun
      order.push('started')
    },
  } as unknown as Parts[3]
  const context = {
    name: 'agents',
    gateway: { name: 'tapgate', version: '0' },
    reportState: () => undefined,
  } as unknown as Parts[1]
  const upstream = new AgentsUpstream({ type: 'agents' } as unknown as Parts[0], context, {} as Parts[2], runtime)

  const answered = upstream
    .dispatch({ method: 'tools/list' } as Parameters<typeof upstream.dispatch>[0])
    .then(() => order.push('answered'))
  setImmediate(go)
  await answered

  assert.deepEqual(order, ['started', 'answered'])
})
