import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObject, type JsonObject } from '../../../../../src/plugin.ts'
import { OPTIONS, call as toolCall } from '../tasks/kit.ts'
import { call, DECLARED, faceSetting, facts, words } from './kit.ts'

test('the tools have schemas and annotations, and the prefix that is wanted', async t => {
  const { client } = await faceSetting(t, {}, { section: { prefix: 'agents__' } })

  const { result } = await (await client()).request('tools/list')

  const tools = result?.tools as JsonObject[]
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['delegate_task', 'agent_status', 'agent_cancel', 'agent_reply', 'list_agents', 'agent_result'].map(
      name => `agents__${name}`,
    ),
  )
  for (const tool of tools) {
    assert.ok(isObject(tool.inputSchema) && isObject(tool.annotations))
    assert.equal('execution' in tool, false)
  }
})

test('a plain call waits for the work, and says which task it was, how it went, why that agent, and what was cut or denied', async t => {
  const { service, client } = await faceSetting(t, { permissions: { default: 'deny' }, output: { inline: 16 } })
  const caller = await client()
  const begun = service.next()
  const answered = call(caller, 'delegate_task', { prompt: 'review it', capabilities: ['review'] })
  const { view, request } = await begun

  const { side } = await service.turn(view.id)
  await side.permission({ call: toolCall({ title: 'tests' }), options: OPTIONS })
  await service.complete(view.id, `all is well now.${'x'.repeat(983)}`)
  const result = await answered

  assert.deepEqual([request.prompt, request.capabilities], ['review it', ['review']])
  const { task_id, state, routed_by, text, truncated, denied } = facts(result)
  assert.deepEqual(
    { task_id, state, routed_by, text, truncated, denied },
    {
      task_id: view.id,
      state: 'completed',
      routed_by: 'order',
      text: 'all is well now.',
      truncated: true,
      denied: ['execute: tests (default)'],
    },
  )
  for (const said of ['all is well', view.id, 'completed', 'order', '999', '"denied":["execute: tests'])
    assert.ok(words(result).includes(said), said)
  assert.equal(result.isError, false)
})

test('work that takes longer goes on: the call says how to hear of it, and its result can be read in pages', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()

  const first = await call(caller, 'delegate_task', { prompt: 'long work', wait_ms: 100 })
  const { task_id } = facts(first)
  assert.equal(facts(first).state, 'running')
  assert.match(words(first), /agent_status/)
  const waiting = call(caller, 'agent_status', { task_id, wait_ms: 10_000 })
  await service.complete(service.last.view.id, 'x'.repeat(3000))

  assert.equal(facts(await waiting).state, 'completed')
  const page = facts(await call(caller, 'agent_result', { task_id, max_bytes: 1024, offset: 1024 }))
  assert.deepEqual([page.offset, page.next_offset, page.bytes_total], [1024, 2048, 3000])
  const last = facts(await call(caller, 'agent_result', { task_id, max_bytes: 1024, offset: 2048 }))
  assert.equal('next_offset' in last, false)
  assert.equal(String(last.text).length, 952)
})

test('a status is told of events after the one that is known', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()
  const { task_id } = facts(await call(caller, 'delegate_task', { prompt: 'p', background: true }))
  const { id } = service.last.view
  const { side } = await service.turn(id)
  const known = service.now(id).seq

  const waiting = call(caller, 'agent_status', { task_id, wait_ms: 10_000, since_seq: known })
  side.update({ is: 'plan', entries: [{ status: 'in_progress', content: 'half way' }] })

  const { events, seq, progress } = facts(await waiting)
  const next = known + 1
  assert.deepEqual(
    [(events as JsonObject[]).map(event => event.seq), seq, progress],
    [[next], next, 'step 1 of 1: half way'],
  )
})

test('a call that is given up takes its task with it, and one in the background does not', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()
  const begun = service.next()
  const running = caller.start('tools/call', { name: 'delegate_task', arguments: { prompt: 'a' } })
  const { view } = await begun

  await running.cancel()
  await service.reaches(view.id, 'cancelled')
  await call(caller, 'delegate_task', { prompt: 'b', background: true })

  assert.deepEqual(service.cancelled, [view.id])
})

test('wrong arguments are told to the model, each in its words, and nothing is begun', async t => {
  const { service, client } = await faceSetting(t)
  const caller = await client()
  const wrong: [JsonObject, RegExp][] = [
    [{}, /"prompt" is missing/],
    [{ prompt: 'p', promt: 1 }, /"promt"; known: prompt, agent/],
    [{ prompt: 'a\0b' }, /"prompt" must be a string .* without NUL/],
    [{ prompt: 'p', wait_ms: 60_000 }, /"wait_ms" must be a whole number from 0 to 45000/],
    [{ prompt: 'p', files: [1] }, /"files" must be a list with each item a string/],
    [{ prompt: 'p', isolation: 'jail' }, /"isolation" must be one of none, worktree/],
    [{ prompt: 'p', __proto__x: 1 }, /unknown argument/],
  ]

  for (const [given, why] of wrong) {
    const result = await call(caller, 'delegate_task', given)
    assert.equal(result.isError, true)
    assert.match(words(result), why)
  }
  assert.equal(service.begun.length, 0)
})

test('what the service refuses is told to the model', async t => {
  const { client } = await faceSetting(t)

  const result = await call(await client(), 'delegate_task', { prompt: 'p', agent: 'bob' })

  assert.equal(result.isError, true)
  assert.match(words(result), /bob/)
})

test('a task of another caller is unknown in every way', async t => {
  const { service, client } = await faceSetting(t)
  const ada = await client({ headers: { 'x-who': 'ada' }, capabilities: DECLARED })
  const bob = await client({ headers: { 'x-who': 'bob' }, capabilities: DECLARED })
  const { result: made } = await ada.request('tools/call', {
    name: 'delegate_task',
    arguments: { prompt: 'p' },
  })
  const task_id = service.last.view.id
  await service.ask(task_id)

  for (const name of ['agent_status', 'agent_cancel', 'agent_result', 'agent_reply']) {
    const result = await call(bob, name, { task_id })
    assert.deepEqual([result.isError, words(result)], [true, 'Unknown task: expired, or not yours'])
  }
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    assert.equal((await bob.request(method, { taskId: made?.taskId, inputResponses: {} })).error?.code, -32602)
  assert.deepEqual(facts(await call(bob, 'agent_status', {})).tasks, [])
  assert.deepEqual(service.cancelled, [])
  assert.equal((facts(await call(ada, 'agent_status', {})).tasks as unknown[]).length, 1)
})
