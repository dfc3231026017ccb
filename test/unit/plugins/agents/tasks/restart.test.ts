import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { AgentFailure } from '../../../../../plugins/agents/types.ts'
import { ANN, call, deskOf, END, FakeHost, fileOf, hangs, request, says, settled, type Play } from './kit.ts'

const acts: Play = async turn => {
  turn.side.update({ is: 'tool', call: call({ status: 'in_progress' }), isNew: true })
  return hangs(turn)
}

test('what waited is queued again by itself after a restart', async context => {
  const file = fileOf(context)
  const config = { limits: { concurrent: 1 } }
  const first = deskOf(context, [new FakeHost('a', hangs, config)], { file })
  await first.delegate(request({ prompt: 'one' }), ANN)
  const waiting = await first.delegate(request({ prompt: 'two' }), ANN)
  first.stop()
  const host = new FakeHost('a', says('done'), config)
  const second = deskOf(context, [host], { file })
  const view = await settled(second, waiting.id)

  assert.deepEqual([view.state, view.text], ['completed', 'done'])
  assert.deepEqual(host.prompts, ['two'])
})

test('a task that was at work is interrupted, and goes on in its session when its owner says so', async context => {
  const file = fileOf(context)
  const first = deskOf(context, [new FakeHost('a', acts)], { file })
  const { id } = await first.delegate(request(), ANN)
  const before = await first.wait(id, 'ann', { ms: 20_000, since: 3 })
  first.stop()
  const host = new FakeHost('a', says('went on'))
  host.sessions.add(before?.sessionId ?? '')
  const second = deskOf(context, [host], { file })
  const interrupted = await settled(second, id)
  const question = interrupted.questions[0]

  assert.deepEqual([interrupted.state, question?.kind, host.prompts], ['interrupted', 'continue', []])
  second.answerQuestion(id, 'ann', question?.id ?? '', {
    action: 'accept',
    content: { message: 'go on, and be quick' },
  })
  const view = await settled(second, id)
  assert.deepEqual([view.state, view.text, view.sessionId], ['completed', 'went on', before?.sessionId])
  assert.deepEqual(host.prompts, ['go on, and be quick'])
})

test('without its session it is begun anew, but never after it may have changed something', async context => {
  for (const [play, hasEffect] of [
    [hangs, false],
    [acts, true],
  ] as const) {
    const file = fileOf(context)
    const first = deskOf(context, [new FakeHost('a', play)], { file })
    const { id } = await first.delegate(request({ prompt: 'build it' }), ANN)
    await first.wait(id, 'ann', { ms: 20_000, since: hasEffect ? 3 : 2 })
    first.stop()
    const host = new FakeHost('a', says('built'))
    const second = deskOf(context, [host], { file })
    const question = (await settled(second, id)).questions[0]?.id ?? ''
    second.answerQuestion(id, 'ann', question, { action: 'accept', content: {} })
    const view = await settled(second, id)

    assert.deepEqual(host.prompts, hasEffect ? [] : ['build it'])
    assert.equal(view.state, hasEffect ? 'failed' : 'completed')
    if (hasEffect) assert.match(view.why ?? '', /not running it again/)
  }
})

test('a second gateway on the same file is refused until the first one stops', async context => {
  const file = fileOf(context)
  const first = deskOf(context, [new FakeHost('a', hangs)], { file })

  assert.throws(() => deskOf(context, [new FakeHost('a', says('stolen'))], { file }), {
    code: 'GW_UPSTREAM_DOWN',
    message: /another gateway uses the task database/,
  })
  first.stop()
  assert.deepEqual(deskOf(context, [], { file }).list('ann', { after: undefined, limit: 1 }), [])
})

test('prompts are kept only where that is wanted, and secrets never', async context => {
  for (const keepPrompt of [true, false]) {
    const file = fileOf(context)
    const talks: Play = async ({ side }) => {
      side.update({ is: 'text', text: 'it is s3cret' })
      side.update({ is: 'tool', call: call({ title: 'echo s3cret' }), isNew: true })
      await side.permission({ call: call({ title: 'cat s3cret' }), options: [] })
      throw new AgentFailure('crash', 'prompt', 'died with s3cret')
    }
    const service = deskOf(context, [new FakeHost('a', talks)], { file, tasks: { keepPrompt } as never })
    await settled(service, (await service.delegate(request({ prompt: 'weave s3cret cloth' }), ANN)).id)
    service.stop()
    const bytes = readFileSync(file).toString('latin1')

    assert.equal(bytes.includes('weave *** cloth'), keepPrompt)
    assert.ok(!bytes.includes('s3cret'))
    assert.ok(bytes.includes('died with ***'))
  }
})

test('an agent that the gateway itself ended leaves its task to go on', async context => {
  let times = 0
  const host = new FakeHost('a', async () => {
    if (times++ === 0) throw new AgentFailure('stopped', 'prompt', 'the gateway was reloaded')
    return END
  })
  const service = deskOf(context, [host])
  const { id } = await service.delegate(request(), ANN)
  const view = await settled(service, id)
  service.answerQuestion(id, 'ann', view.questions[0]?.id ?? '', { action: 'decline' })

  assert.equal(view.state, 'interrupted')
  assert.equal(service.view(id, 'ann')?.state, 'cancelled')
})
