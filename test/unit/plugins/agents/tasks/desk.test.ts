import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '../../../../../src/plugin.ts'
import type { PermissionOutcome } from '../../../../../plugins/agents/types.ts'
import { ANN, BOB, call, deskOf, END, fails, FakeHost, hangs, OPTIONS, request, says, settled } from './kit.ts'

test('a task is done in the background, and what was said is there, clean and without secrets', async context => {
  const host = new FakeHost('a', async ({ side }) => {
    side.update({ is: 'text', text: 'the key is s3c' })
    side.update({ is: 'text', text: 'ret \u001b[1mnow' })
    side.update({
      is: 'tool',
      call: call({ kind: 'edit', status: 'completed', paths: ['/project/one'] }),
      isNew: true,
    })
    return { stopReason: 'end_turn', usage: { inputTokens: 3 } }
  })
  const service = deskOf(context, [host])
  const begun = await service.delegate(request({ prompt: 'use s3cret' }), ANN)
  const view = await settled(service, begun.id)

  assert.equal(view.state, 'completed')
  assert.deepEqual([view.text, view.isError, view.agent], ['the key is *** now', false, 'a'])
  assert.deepEqual([view.filesChanged, view.usage], [['/project/one'], { inputTokens: 3 }])
  assert.deepEqual(host.prompts, ['use s3cret'], 'the agent itself gets what was said')
  assert.deepEqual(view.attempts, [{ agent: 'a' }])
  const kinds = service.events(begun.id, 'ann', 0, 100).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['state', 'state', 'state', 'tool', 'state'])
})

test('another owner sees nothing, and can do nothing, by any method', async context => {
  const service = deskOf(context, [new FakeHost('a', hangs)])
  const { id } = await service.delegate(request({ idempotencyKey: 'k' }), ANN)

  assert.equal(service.view(id, 'bob'), undefined)
  assert.deepEqual(service.list('bob', { after: undefined, limit: 9 }), [])
  assert.deepEqual(service.list('bob', { after: id, limit: 9 }), [])
  assert.equal(await service.wait(id, 'bob', { ms: 9000 }), undefined)
  assert.deepEqual(service.events(id, 'bob', 0, 9), [])
  for (const what of ['text', 'diff', 'log'] as const) assert.equal(service.readPage(id, 'bob', what, 0, 99), undefined)
  assert.throws(() => service.answerQuestion(id, 'bob', 'q000001', { action: 'cancel' }), {
    code: 'GW_AGENT_TASK_UNKNOWN',
  })
  assert.equal(service.cancel(id, 'bob', 'because'), false)
  await assert.rejects(service.delegate(request({ continues: id }), BOB), { code: 'GW_AGENT_TASK_UNKNOWN' })
  const parent = { task: id, root: id, depth: 0 }
  await assert.rejects(service.delegate(request(), { ...BOB, parent }), { code: 'GW_AGENT_TASK_UNKNOWN' })
  assert.notEqual((await service.delegate(request({ idempotencyKey: 'k' }), BOB)).id, id)
  assert.equal(service.cancel(id, 'ann', 'because'), true)
})

test('the same key is the same task, also when both come at once', async context => {
  const host = new FakeHost('a', says('x'))
  const service = deskOf(context, [host])
  const both = await Promise.all([1, 2].map(() => service.delegate(request({ idempotencyKey: 'k' }), ANN)))
  await settled(service, both[0]?.id ?? '')

  assert.equal(both[0]?.id, both[1]?.id)
  assert.equal((await service.delegate(request({ idempotencyKey: 'k' }), ANN)).id, both[0]?.id)
  assert.equal(host.prompts.length, 1)
})

test('what is cancelled stays cancelled, though the agent ends its turn after that', async context => {
  const host = new FakeHost('a', async ({ side, cancelled }) => {
    side.update({ is: 'text', text: 'half' })
    await cancelled
    return END
  })
  const service = deskOf(context, [host])
  const { id } = await service.delegate(request(), ANN)
  await service.wait(id, 'ann', { ms: 20_000, since: 2 })

  assert.equal(service.cancel(id, 'ann', 'its call was cancelled'), true)
  assert.equal(service.cancel(id, 'ann', 'again'), false)
  await new Promise(resolve => setImmediate(resolve))
  const view = service.view(id, 'ann')
  assert.deepEqual([view?.state, view?.why, view?.text], ['cancelled', 'its call was cancelled', 'half'])
})

test('limit, login and start fall back to the next agent; what has had an effect does not', async context => {
  for (const kind of ['limit', 'auth', 'spawn'] as const) {
    const hosts = [new FakeHost('a', fails(kind, 'prompt', 'no s3cret')), new FakeHost('b', says('done'))]
    const service = deskOf(context, hosts)
    const view = await settled(service, (await service.delegate(request(), ANN)).id)

    assert.deepEqual([view.state, view.agent, view.text, view.why], ['completed', 'b', 'done', undefined], kind)
    assert.deepEqual(view.attempts, [{ agent: 'a', failure: `${kind}: no ***` }, { agent: 'b' }])
  }
  const acts = new FakeHost('a', async ({ side }) => {
    side.update({ is: 'tool', call: call({ status: 'in_progress' }), isNew: true })
    return fails('limit', 'prompt', 'quota')({} as never)
  })
  const other = new FakeHost('b', says('done'))
  const service = deskOf(context, [acts, other])
  const view = await settled(service, (await service.delegate(request(), ANN)).id)

  assert.deepEqual([view.state, view.isError, view.why], ['failed', true, 'limit in prompt: quota'])
  assert.equal(other.prompts.length, 0)
  for (const kind of ['timeout', 'crash', 'protocol'] as const) {
    const second = deskOf(context, [new FakeHost('a', fails(kind, 'prompt', 'x')), other])
    assert.equal((await settled(second, (await second.delegate(request(), ANN)).id)).agent, 'a', kind)
  }
})

test('a permission is asked for once, by kind, and never for always', async context => {
  const outcomes: PermissionOutcome[] = []
  const host = new FakeHost(
    'a',
    async ({ side }) => {
      outcomes.push(await side.permission({ call: call(), options: OPTIONS }))
      outcomes.push(await side.permission({ call: call(), options: OPTIONS.slice(0, 1) }))
      side.update({ is: 'text', text: 'fine' })
      return END
    },
    { permissions: { default: 'ask' } },
  )
  const service = deskOf(context, [host])
  const { id } = await service.delegate(request(), ANN)
  for (let count = 0; count < 2; count++) {
    const asked = await settled(service, id)
    assert.equal(asked.state, 'input_required')
    const question = asked.questions[0]?.id ?? ''
    assert.match(asked.questions[0]?.message ?? '', /a wants to execute: npm test/)
    assert.throws(
      () => service.answerQuestion(id, 'ann', question, { action: 'accept', content: { decision: 'always' } }),
      {
        code: 'GW_AGENT_QUESTION',
      },
    )
    service.answerQuestion(id, 'ann', question, { action: 'accept', content: { decision: 'allow' } })
    assert.throws(() => service.answerQuestion(id, 'ann', question, { action: 'decline' }), {
      code: 'GW_AGENT_QUESTION',
    })
    await service.wait(id, 'ann', { ms: 20, since: asked.seq })
  }
  const view = await settled(service, id)

  assert.deepEqual(outcomes, [{ optionId: 'yes' }, 'cancelled'])
  assert.match(view.denied[0] ?? '', /no allow-once option/)
})

test('nobody answers: denied; nothing said and something denied is no success', async context => {
  const host = new FakeHost(
    'a',
    async ({ side }) => {
      await side.permission({ call: call(), options: OPTIONS })
      return END
    },
    { permissions: { default: 'ask', askTimeout: 20 } },
  )
  const recorded: AuditEvent[] = []
  const service = deskOf(context, [host], { record: event => recorded.push(event) })
  const { id } = await service.delegate(request(), ANN)
  const asked = await settled(service, id)
  assert.equal(asked.state, 'input_required')
  let view = asked
  while (view.state !== 'failed') view = (await service.wait(id, 'ann', { ms: 20_000, since: view.seq })) ?? view

  assert.deepEqual([view.isError, view.why, view.questions], [true, 'denied: the approval timed out', []])
  assert.match(view.denied[0] ?? '', /approval timed out/)
  assert.deepEqual(
    recorded.map(({ kind, outcome, fields }) => [kind, outcome, fields?.agent, fields?.task, fields?.by]),
    [['permission', 'denied', 'a', id, 'approval timed out']],
  )
})

test('a form of the agent is filled in by the owner of the task', async context => {
  const form = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] }
  const host = new FakeHost('a', async ({ side }) => {
    const { signal } = new AbortController()
    const given = await side.elicit({ mode: 'form', message: 'Which?', requestedSchema: form }, signal)
    const link = await side.elicit({ mode: 'url', message: 'Go there', url: 'http://x' }, signal)
    side.update({ is: 'text', text: JSON.stringify([given, link]) })
    return END
  })
  const service = deskOf(context, [host])
  const { id } = await service.delegate(request(), ANN)
  const asked = await settled(service, id)
  const question = asked.questions[0]
  assert.deepEqual([question?.kind, question?.schema], ['elicitation', form])
  assert.throws(
    () => service.answerQuestion(id, 'ann', question?.id ?? '', { action: 'accept', content: {} }),
    /missing colour/,
  )
  service.answerQuestion(id, 'ann', question?.id ?? '', { action: 'accept', content: { colour: 'red' } })
  const view = await settled(service, id)

  assert.equal(view.text, '[{"action":"accept","content":{"colour":"red"}},{"action":"decline"}]')
})
