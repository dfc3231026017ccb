import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LocalTaskService } from '../../../../../plugins/agents/tasks/service.ts'
import { ANN, deskOf, FakeHost, hangs, request, says, settled } from './kit.ts'

test('each end of a turn is what it means', async context => {
  const ends = [
    { stopReason: 'refusal', isError: true, why: 'the agent refused' },
    { stopReason: 'max_tokens', isError: false, why: 'the agent stopped early: max_tokens' },
    { stopReason: 'cancelled', isError: true, why: 'the agent cancelled the turn' },
  ] as const
  for (const { stopReason, isError, why } of ends) {
    const service = deskOf(context, [new FakeHost('a', () => Promise.resolve({ stopReason, usage: undefined }))])
    const view = await settled(service, (await service.delegate(request(), ANN)).id)
    assert.deepEqual([view.state, view.isError, view.why], [isError ? 'failed' : 'completed', isError, why])
  }
  const slow = deskOf(context, [new FakeHost('a', hangs)])
  const late = await settled(slow, (await slow.delegate(request({ timeoutMs: 5 }), ANN)).id)
  assert.deepEqual([late.state, late.isError, late.why], ['failed', true, 'timeout: time limit reached'])
  const apart = deskOf(context, [new FakeHost('a', hangs, { isolation: 'worktree' })])
  const failed = await settled(apart, (await apart.delegate(request({ isolation: 'none' }), ANN)).id)
  assert.deepEqual([failed.state, failed.why], ['failed', 'internal gateway error: no worktree here'])
})

test('a task goes on in the session of one that has ended, of the same agent and directory', async context => {
  const host = new FakeHost('a', says('x'))
  const service = deskOf(context, [host, new FakeHost('b', says('y'))])
  const first = await service.delegate(request({ agent: 'a', cwd: '/project/one' }), ANN)
  const ended = await settled(service, first.id)
  const second = await settled(
    service,
    (await service.delegate(request({ continues: first.id, prompt: 'more' }), ANN)).id,
  )

  assert.deepEqual([second.agent, second.sessionId, second.cwd], ['a', ended.sessionId, '/project/one'])
  await assert.rejects(service.delegate(request({ continues: first.id, cwd: '/else' }), ANN), {
    code: 'GW_AGENT_TASK_BUSY',
  })
  host.sessions.clear()
  const third = await settled(
    service,
    (await service.delegate(request({ continues: second.id, prompt: 'again' }), ANN)).id,
  )
  assert.deepEqual([third.state, third.warnings], ['completed', ['the session cannot be resumed']])
  assert.deepEqual(host.prompts, ['do it', 'more', 'again'])
})

test('children have the budget of the first task', async context => {
  const callback = { tools: ['*'], maxDepth: 1, maxTasks: 2 }
  const hosts = [
    new FakeHost('a', hangs, { callback, limits: { concurrent: 1 } }),
    new FakeHost('b', says('x'), { callback }),
  ]
  const service = deskOf(context, hosts)
  const { id } = await service.delegate(request({ agent: 'a' }), ANN)
  await service.wait(id, 'ann', { ms: 20_000, since: 2 })
  const child = { ...ANN, parent: { task: id, root: id, depth: 0 } }

  await assert.rejects(service.delegate(request({ continues: id }), child), { code: 'GW_AGENT_TASK_BUSY' })
  const first = await service.delegate(request({ agent: 'b' }), child)
  const deep = { ...ANN, parent: { task: first.id, root: first.id, depth: 0 } }
  await settled(service, first.id)
  await assert.rejects(service.delegate(request(), deep), { code: 'GW_AGENT_BUDGET' })
  await service.delegate(request({ agent: 'b' }), child)
  await assert.rejects(service.delegate(request(), child), { code: 'GW_AGENT_BUDGET' })
  service.cancel(id, 'ann', 'enough')
  await assert.rejects(service.delegate(request(), child), /the parent task has finished/)
})

test('a task without a capable agent is refused, and an unhealthy agent is tried again', async context => {
  const host = new FakeHost('a', says('x'), { capabilities: ['code'] })
  const service = deskOf(context, [host])
  await assert.rejects(service.delegate(request({ agent: 'z' }), ANN), { code: 'GW_AGENT_UNKNOWN' })
  await assert.rejects(service.delegate(request({ capabilities: ['fly'] }), ANN), /a: lacks fly/)
  host.health = { state: 'unavailable', why: 'no such file' }
  assert.equal((await settled(service, (await service.delegate(request(), ANN)).id)).state, 'completed')
  assert.deepEqual(
    service.agents().map(({ id, health }) => [id, health]),
    [['a', 'unavailable']],
  )
})

test('output is kept within its bounds, and paged between characters', async context => {
  const text = 'aäあ😀'.repeat(30)
  const host = new FakeHost('a', says(text), { output: { inline: 64, keep: 200, events: 3 } })
  const service = deskOf(context, [host])
  const view = await settled(service, (await service.delegate(request(), ANN)).id)
  const { read, pages } = readAll(service, view.id)

  assert.ok(view.truncated && text.startsWith(view.text) && Buffer.byteLength(view.text) <= 64)
  assert.ok(text.startsWith(read) && Buffer.byteLength(read) > 190 && Buffer.byteLength(read) <= 200)
  assert.ok(pages > 10)
  assert.equal(service.events(view.id, 'ann', 0, 100).length, 3)
  assert.match(service.readPage(view.id, 'ann', 'log', 0, 9999)?.text ?? '', /Z state completed\n$/)
})

test('what was counted is in the figures', async context => {
  const service = deskOf(context, [new FakeHost('a', says('12345'))])
  await settled(service, (await service.delegate(request(), ANN)).id)
  const of = (name: string): unknown => service.figures().find(figure => figure.name === name)?.samples

  await service.wait('', 'ann', { ms: 0 })
  assert.deepEqual(of('tapgate_agent_output_bytes'), [{ suffix: '_total', labels: { agent: 'a' }, value: 5 }])
  assert.deepEqual(of('tapgate_agent_tasks'), [
    { suffix: '_total', labels: { agent: 'a', state: 'completed' }, value: 1 },
  ])
  assert.deepEqual(of('tapgate_agent_queue_depth'), [{ labels: { agent: 'a' }, value: 0 }])
})

function readAll(service: LocalTaskService, id: string): { read: string; pages: number } {
  let read = ''
  let pages = 0
  for (let next: number | undefined = 0; next !== undefined; pages++) {
    const page = service.readPage(id, 'ann', 'text', next, 17)
    assert.equal(page?.cut, true)
    read += page?.text ?? ''
    next = page?.next
  }
  return { read, pages }
}
