import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUpdate, ToolCalls } from '../../../../plugins/agents/acp/session-updates.ts'
import { AgentFailure } from '../../../../plugins/agents/types.ts'
import { ANN, END, FakeHost, type Play, deskOf, request, settled } from './tasks/kit.ts'

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

test('a turn that ends well has failed where the agent said that its thread is in error, and has not where that passed', async context => {
  const saying =
    (...types: string[]): Play =>
    async ({ side }) => {
      for (const type of types) {
        const _meta = { codex: { threadStatus: { type } } }
        side.update(readUpdate({ sessionUpdate: 'session_info_update', _meta }, new ToolCalls()))
      }
      side.update({ is: 'text', text: 'last status: 429' })
      return END
    }
  const service = deskOf(context, [
    new FakeHost('bad', saying('active', 'systemError')),
    new FakeHost('good', saying('systemError', 'active')),
  ])
  const endOf = async (agent: string) => {
    const { id } = await service.delegate({ ...request(), agent }, ANN)
    return settled(service, id)
  }
  const [bad, good] = [await endOf('bad'), await endOf('good')]

  assert.deepEqual([bad.state, bad.isError, bad.text], ['failed', true, 'last status: 429'])
  assert.match(bad.why ?? '', /the agent reported an internal error/)
  assert.deepEqual([good.state, good.isError], ['completed', false])
})

test('a file that an agent changed is told once, though it has a whole path before and a bare name after', async context => {
  const writes: Play = async ({ side }) => {
    const calls = new ToolCalls()
    const diff = (path: string) => [{ type: 'diff', path, newText: 'x' }]
    for (const said of [
      { kind: 'edit', locations: [{ path: '/w/deep/a.txt' }], content: diff('/w/deep/a.txt') },
      { status: 'completed', content: diff('a.txt') },
    ])
      side.update(readUpdate({ sessionUpdate: 'tool_call_update', toolCallId: '1', ...said }, calls))
    return END
  }
  const service = deskOf(context, [new FakeHost('qwen', writes)])
  const view = await settled(service, (await service.delegate(request(), ANN)).id)

  assert.deepEqual(view.filesChanged, ['/w/deep/a.txt'])
})
