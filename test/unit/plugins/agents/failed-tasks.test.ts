import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentFailure } from '../../../../plugins/agents/types/agent.ts'
import { ANN, call, CANCELLED, deskOf, FakeHost, OPTIONS, type Play } from './tasks/kit.ts'
import { request, settled } from './tasks/kit.ts'

const failing =
  (kind: AgentFailure['kind']): Play =>
  () =>
    Promise.reject(new AgentFailure(kind, 'prompt', `${kind} of the agent`))

test('a task whose agent failed has failed, and is counted by what came of it', async context => {
  for (const kind of ['auth', 'crash', 'spawn', 'timeout', 'limit', 'protocol'] as const) {
    const service = deskOf(context, [new FakeHost('a', failing(kind))])
    const view = await settled(service, (await service.delegate(request(), ANN)).id)

    assert.deepEqual([view.state, view.isError], ['failed', true], kind)
    assert.match(view.why ?? '', new RegExp(`^${kind} in prompt`))
    const of = (figure: string) => service.figures().find(({ name }) => name === figure)?.samples
    assert.deepEqual(of('tapgate_agent_tasks'), [
      { suffix: '_total', labels: { agent: 'a', state: 'failed' }, value: 1 },
    ])
    assert.deepEqual(of('tapgate_agent_task_failures'), [
      { suffix: '_total', labels: { agent: 'a', outcome: kind }, value: 1 },
    ])
  }
})

test('whoever denied what the agent wanted is named', async context => {
  const asks: Play = async ({ side }) => {
    await side.permission({ call: call(), options: OPTIONS })
    return CANCELLED
  }
  const byRule = deskOf(context, [new FakeHost('a', asks, { permissions: { default: 'deny' } })])
  const denied = await settled(byRule, (await byRule.delegate(request(), ANN)).id)
  assert.deepEqual([denied.state, denied.why], ['failed', 'denied by policy'])

  const byOwner = deskOf(context, [new FakeHost('a', asks, { permissions: { default: 'ask' } })])
  const { id } = await byOwner.delegate(request(), ANN)
  const waiting = await settled(byOwner, id)
  byOwner.answer(id, 'ann', waiting.questions[0]?.id ?? '', { action: 'decline' })
  const view = await settled(byOwner, id)
  assert.deepEqual([view.state, view.why], ['failed', 'denied by its owner'])

  const soon = { permissions: { default: 'ask', askTimeout: '5ms' } } as const
  const byTime = deskOf(context, [new FakeHost('a', asks, soon)])
  const begun = await byTime.delegate(request(), ANN)
  let late = await settled(byTime, begun.id)
  while (late.state !== 'failed')
    late = (await byTime.wait(begun.id, 'ann', { ms: 5000, since: late.seq })) ?? late
  assert.equal(late.why, 'denied, as nobody answered in time')
})
