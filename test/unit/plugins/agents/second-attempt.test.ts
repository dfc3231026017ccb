import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANN, END, FakeHost, deskOf, request, says, settled } from './tasks/kit.ts'

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

test('a key stands for one task', async context => {
  const service = deskOf(context, [new FakeHost('a', says('done'))])
  const one = await service.delegate(request({ idempotencyKey: 'k' }), ANN)

  assert.equal((await service.delegate(request({ idempotencyKey: 'k' }), ANN)).id, one.id)
})
