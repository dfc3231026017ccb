import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/plugin.ts'
import { call, DECLARED, faceSetting, facts, words } from './kit.ts'

const TASKS = 'io.modelcontextprotocol/tasks'

test('a client with the tasks extension gets the task at once, and its end by tasks/get', async t => {
  const { service, client } = await faceSetting(t)
  const modern = await client({ capabilities: DECLARED })

  const { result: task } = await modern.request('tools/call', {
    name: 'delegate_task',
    arguments: { prompt: 'p' },
  })
  assert.deepEqual([task?.resultType, task?.status, service.last.request.background], ['task', 'working', true])
  await service.complete(service.last.view.id, 'done')
  await service.reaches(service.last.view.id, 'completed')
  const { result: state } = await modern.request('tasks/get', { taskId: task?.taskId })

  assert.equal(state?.status, 'completed')
  assert.equal(facts(state.result as JsonObject).text, 'done')
})

test('a task asks its client by tasks/get, and is answered by tasks/update; who cannot be asked is told where to answer', async t => {
  const { service, client } = await faceSetting(t)
  const modern = await client({ capabilities: DECLARED })
  const formless = await client({ capabilities: { extensions: { [TASKS]: {} } } })
  const { result } = await modern.request('tools/call', { name: 'delegate_task', arguments: { prompt: 'p' } })
  const taskId = result?.taskId
  const question = await service.ask(service.last.view.id, 'May it edit?')

  const blind = (await formless.request('tasks/get', { taskId })).result
  assert.deepEqual([blind?.status, 'inputRequests' in (blind ?? {})], ['working', false])
  assert.match(String(blind?.statusMessage), /May it edit\?/)
  const { status, inputRequests } = (await modern.request('tasks/get', { taskId })).result ?? {}
  assert.equal(status, 'input_required')
  const [key, ask] = Object.entries(inputRequests as JsonObject)[0] ?? []
  assert.equal((ask as { method: string }).method, 'elicitation/create')
  const reply = { action: 'accept', content: { decision: 'allow' } }
  await modern.request('tasks/update', { taskId, inputResponses: { [String(key)]: reply, other: reply } })

  assert.deepEqual(service.answers, [{ task: service.last.view.id, question, answer: reply }])
  assert.equal((await modern.request('tasks/get', { taskId })).result?.status, 'working')
})

test('a task that is cancelled by its client is cancelled at the desk', async t => {
  const { service, client } = await faceSetting(t)
  const modern = await client({ capabilities: DECLARED })
  const { result } = await modern.request('tools/call', { name: 'delegate_task', arguments: { prompt: 'p' } })

  await modern.request('tasks/cancel', { taskId: result?.taskId })

  assert.deepEqual(service.cancelled, [service.last.view.id])
  assert.equal((await modern.request('tasks/get', { taskId: result?.taskId })).result?.status, 'cancelled')
})

test('a plain modern client is asked in the middle of its call, and its retry goes on with the same task', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client({ capabilities: { elicitation: { form: {} } } })
  const params = { name: 'delegate_task', arguments: { prompt: 'p' } }
  const begun = service.next()
  const asking = caller.request('tools/call', params)
  const { view } = await begun
  const question = await service.ask(view.id, 'May it edit?')

  const { result: wanted } = await asking
  assert.equal(wanted?.resultType, 'input_required')
  const answers = { [question]: { action: 'accept', content: { decision: 'deny' } } }
  const retried = caller.request('tools/call', {
    ...params,
    requestState: wanted.requestState,
    inputResponses: answers,
  })
  await service.reaches(view.id, 'running')
  await service.complete(view.id, 'without an edit')

  assert.equal(facts((await retried).result ?? {}).text, 'without an edit')
  assert.equal(service.begun.length, 1)
})

test('who cannot be asked gets the question in the answer, and answers by agent_reply', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()
  const begun = service.next()
  const asking = call(caller, 'delegate_task', { prompt: 'p' })
  const { view } = await begun
  await service.ask(view.id, 'May it edit?')

  const asked = await asking
  assert.equal(facts(asked).state, 'input_required')
  assert.ok(words(asked).includes('May it edit?') && words(asked).includes('agent_reply'))
  const replied = call(caller, 'agent_reply', { task_id: view.id, content: { decision: 'allow' } })
  await service.reaches(view.id, 'running')
  await service.complete(view.id, 'edited')

  assert.equal(facts(await replied).text, 'edited')
  assert.deepEqual(service.answers[0]?.answer, { action: 'accept', content: { decision: 'allow' } })
  assert.equal((await call(caller, 'agent_reply', { task_id: view.id })).isError, true)
})

test('agent_reply with a prompt goes on in the session of a task, as a new one', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()
  await call(caller, 'delegate_task', { prompt: 'p', background: true })
  const { id } = service.last.view
  await service.complete(id, 'one')
  await service.reaches(id, 'completed')
  const begun = service.next()
  const second = call(caller, 'agent_reply', { task_id: id, prompt: 'and now the tests' })
  const next = await begun
  await service.complete(next.view.id, 'two')

  assert.equal(facts(await second).text, 'two')
  assert.deepEqual([next.request.continues, next.request.prompt], [id, 'and now the tests'])
})

test('progress is told to who wants it, while the call waits', async t => {
  const { client } = await faceSetting(t)
  const caller = await client()

  const reply = await caller.request('tools/call', {
    name: 'delegate_task',
    arguments: { prompt: 'p', wait_ms: 60 },
    _meta: { progressToken: 7 },
  })

  assert.deepEqual(
    reply.notifications.map(({ method, params }) => [method, params?.progressToken, params?.message]),
    [['notifications/progress', 7, 'running on ada']],
  )
})
