import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentFailure } from '../../../../plugins/agents/types.ts'
import { ANN, CANCELLED, END, FakeHost, type Play, deskOf, request, says, settled } from './tasks/kit.ts'

/** The first turn is played so, each later one says that it is done. */
function first(play: Play): Play {
  let turns = 0
  return turn => (turns++ === 0 ? play(turn) : says('done')(turn))
}

test('a turn that ends before anything has happened is begun once more, in another session', async context => {
  const refuses: Play = () => Promise.reject(new AgentFailure('refused', 'prompt', 'no such session'))
  for (const play of [refuses, () => Promise.resolve(END), () => Promise.resolve(CANCELLED)]) {
    const host = new FakeHost('a', first(play))
    const service = deskOf(context, [host])
    const view = await settled(service, (await service.delegate(request(), ANN)).id)

    assert.deepEqual([view.state, view.text], ['completed', 'done'])
    assert.match(view.warnings.join(), /retried a/)
    assert.equal(host.sessions.size, 2)
  }
})

test('nothing is begun once more where the agent said something, or did', async context => {
  const spoke: Play = async turn => {
    await says('so far')(turn)
    throw new AgentFailure('refused', 'prompt', 'broken')
  }
  const crashed: Play = () => Promise.reject(new AgentFailure('crash', 'process', 'it ended'))
  for (const play of [spoke, crashed]) {
    const host = new FakeHost('a', first(play))
    const service = deskOf(context, [host])
    const view = await settled(service, (await service.delegate(request(), ANN)).id)

    assert.deepEqual([view.state, host.prompts.length], ['failed', 1])
  }
})

test('a turn without a word or an action is no success, and another agent may have the task', async context => {
  const silent = new FakeHost('a', () => Promise.resolve(END))
  const alone = deskOf(context, [silent])
  const failed = await settled(alone, (await alone.delegate(request(), ANN)).id)
  assert.deepEqual([failed.state, failed.isError], ['failed', true])
  assert.match(failed.why ?? '', /^empty in prompt: .*without output or actions/)

  const service = deskOf(context, [silent, new FakeHost('b', says('done'))])
  const view = await settled(service, (await service.delegate(request(), ANN)).id)
  assert.deepEqual([view.agent, view.text], ['b', 'done'])
  assert.match(view.warnings.join(), /a failed: empty/)
})

test('a key stands for one request: another one with it is refused', async context => {
  const service = deskOf(context, [new FakeHost('a', says('done'))])
  const one = await service.delegate(request({ idempotencyKey: 'k' }), ANN)

  assert.equal((await service.delegate(request({ idempotencyKey: 'k' }), ANN)).id, one.id)
  await assert.rejects(service.delegate(request({ idempotencyKey: 'k', prompt: 'else' }), ANN), {
    code: 'GW_AGENT_KEY_USED',
  })
})
