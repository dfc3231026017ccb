import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js'
import { TestClock } from '../../../../../src/testing/index.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { until } from '../../../../fixtures/until.ts'
import { call, DECLARED, faceSetting, facts, words } from './kit.ts'

const SHORT = { config: { shape: { patience: 40 } } }

for (const era of ['modern', 'legacy'] as const)
  test(`a ${era} client that waits for less than 45 s is answered in time, in the words of the agents, and the work goes on`, async t => {
    const { service, client } = await faceSetting(t, {}, SHORT)
    const caller = await client({ era })

    const first = await call(caller, 'delegate_task', { prompt: 'long work' })
    const { task_id, state } = facts(first)
    assert.equal(state, 'running')
    assert.match(words(first), /agent_status/)
    assert.doesNotMatch(words(first), /tool result/)
    const looked = await call(caller, 'agent_status', { task_id, wait_ms: 45_000 })
    assert.equal(facts(looked).state, 'running')
    assert.deepEqual(service.cancelled, [])

    await service.complete(String(task_id), 'done')
    assert.equal(facts(await call(caller, 'agent_status', { task_id })).text, 'done')
  })

test('a call that wants to wait less than its client is answered when it wants to be, and no call is kept twice', async t => {
  const { service, client, gateway } = await faceSetting(t, {}, { config: { shape: { patience: '1h' } } })
  const caller = await client()

  for (let n = 0; n < 120; n++) await call(caller, 'delegate_task', { prompt: `work ${n}`, wait_ms: 0 })

  assert.equal(service.begun.length, 120)
  const figures = gateway.gateway.generation.graph.hooks.getRunner('metrics')?.([]) ?? []
  const slow = figures.find(({ name }) => name === 'tapgate_slow_calls')
  assert.equal(slow?.samples[0]?.value, 0)
})

test('work that has not begun when the time is over is begun all the same, and its answer names it', async t => {
  const { service, client } = await faceSetting(t)
  const delegate = service.delegate.bind(service)
  let begin: () => void = () => undefined
  const held = new Promise<void>(resolve => (begin = resolve))
  service.delegate = async (...given) => {
    await held
    return delegate(...given)
  }
  const caller = await client()
  const answered = call(caller, 'delegate_task', { prompt: 'p', wait_ms: 1 })
  setTimeout(begin, 50)

  const { task_id, next } = facts(await answered)
  assert.equal(task_id, service.last.view.id)
  assert.match(String(next), /still running/)
  assert.deepEqual(service.cancelled, [])
})

test('a client that knows tasks is answered in time by agent_reply, too', async t => {
  const { service, client } = await faceSetting(t, {}, SHORT)
  const modern = await client({ capabilities: DECLARED })
  await modern.request('tools/call', { name: 'delegate_task', arguments: { prompt: 'p' } })
  const { id } = service.last.view
  await service.ask(id)

  const replied = await call(modern, 'agent_reply', { task_id: id, content: { decision: 'allow' } })

  assert.equal(facts(replied).state, 'running')
  assert.deepEqual(service.cancelled, [])
})

test('while a person thinks the time stands still', async t => {
  const clock = new TestClock()
  const { service, gateway } = await faceSetting(t, {}, { config: { overload: false }, clock })
  const asked = Promise.withResolvers<void>()
  const thought = Promise.withResolvers<ElicitResult>()
  const client = new Client({ name: 'legacy', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => {
    asked.resolve()
    return thought.promise
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))
  cleanup(t, () => client.close())
  const begun = service.next()
  let isAnswered = false
  const params = { name: 'delegate_task', arguments: { prompt: 'p', wait_ms: 40_000 } }
  const answered = client.callTool(params).finally(() => (isAnswered = true))
  await service.ask((await begun).view.id)
  await asked.promise
  clock.advance(90_000)
  await new Promise(resolve => setTimeout(resolve, 50))

  assert.equal(isAnswered, false)
  thought.resolve({ action: 'accept', content: { decision: 'allow' } })
  await until(() => service.answers.length === 1, 'the answer has arrived')
  await until(() => {
    clock.advance(1000)
    return isAnswered
  }, 'its time is over')
  assert.equal(facts(await answered).state, 'running')
  assert.equal(service.answers.length, 1)
})
