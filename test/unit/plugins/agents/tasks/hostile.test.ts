import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANN, deskOf, END, FakeHost, request, settled, type Play } from './kit.ts'

test('why an agent is not well is told without secrets and control characters, to whomever', async context => {
  const host = new FakeHost('a', () => Promise.resolve(END))
  host.health = { state: 'unavailable', why: 'the key s3cret \u001b[31mis refused' }
  const service = deskOf(context, [host])

  assert.equal(service.agents()[0]?.why, 'the key *** is refused')
})

test('however much an agent says of its usage, so much is kept', async context => {
  const play: Play = async ({ side }) => {
    for (let i = 0; i < 50; i++) side.update({ is: 'usage', usage: { [`key${i}`]: 'x'.repeat(8000) } })
    side.update({ is: 'usage', usage: { totalTokens: 7 } })
    return END
  }
  const service = deskOf(context, [new FakeHost('a', play)])
  const { state, usage } = await settled(service, (await service.delegate(request(), ANN)).id)

  assert.equal(state, 'completed')
  assert.ok(JSON.stringify(usage).length < 20_000)
  assert.equal(usage?.totalTokens, 7, 'what comes last counts')
})

test('a secret that is a number does not make a task fail whose usage has that number', async context => {
  const end = { stopReason: 'end_turn', usage: { totalTokens: 424242 } } as const
  const service = deskOf(context, [new FakeHost('a', () => Promise.resolve(end))], {
    hide: text => text.replaceAll('424242', '***'),
  })
  const view = await settled(service, (await service.delegate(request(), ANN)).id)

  assert.deepEqual([view.state, view.isError], ['completed', false])
  assert.ok(!JSON.stringify(view).includes('424242'))
})

test('an agent that asks and takes it back for ever does not fill the disk', async context => {
  const play: Play = async ({ side }) => {
    for (let i = 0; i < 300; i++) {
      const gone = new AbortController()
      const asked = side.elicit({ message: `${i}`, requestedSchema: { x: 'y'.repeat(100) } }, gone.signal)
      gone.abort()
      await asked
    }
    return END
  }
  const service = deskOf(context, [new FakeHost('a', play)])
  const { id } = await service.delegate(request(), ANN)
  let view = service.view(id, 'ann')
  while (view !== undefined && view.state !== 'completed')
    view = await service.wait(id, 'ann', { ms: 20_000, since: view.seq })
  assert.match(view?.warnings.join() ?? '', /question limit of 200/)
  assert.deepEqual(view?.questions, [])
})

test('a form of no shape can be answered', async context => {
  for (const requestedSchema of [null, [], 'x']) {
    const play: Play = async ({ side }) => {
      const answer = await side.elicit({ message: 'name?', requestedSchema }, new AbortController().signal)
      side.update({ is: 'text', text: JSON.stringify(answer) })
      return END
    }
    const service = deskOf(context, [new FakeHost('a', play)])
    const { id } = await service.delegate(request(), ANN)
    const { questions } = await settled(service, id)
    service.answerQuestion(id, 'ann', questions[0]?.id ?? '', { action: 'accept', content: { name: 'Ann' } })
    const ended = await settled(service, id)
    assert.equal(ended.why, undefined, 'what it asked is no reason for its end')
    assert.equal(ended.text, '{"action":"accept","content":{"name":"Ann"}}')
  }
})
