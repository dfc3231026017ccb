import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AgentHost } from '../../../../../plugins/agents/acp/agent-host.ts'
import { agentWorld } from '../kit.ts'
import { ANN, deskOf, fileOf, request, settled } from './kit.ts'

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

test('a real process works: it asks its owner, gets the trace, and says what it used', async context => {
  const world = await agentWorld(context)
  const host: AgentHost = world.pool({ settings: { permissions: { default: 'ask' } } })
  const service = deskOf(context, [host], { file: fileOf(context) })
  const prompt = '[[ask edit made.txt]][[tool read x]][[meta]]'
  const { id } = await service.delegate(request({ prompt, cwd: world.directory }), { ...ANN, trace: TRACE })
  const asked = await settled(service, id)
  assert.match(asked.questions[0]?.message ?? '', /scripted wants to edit: edit made.txt/)
  service.answerQuestion(id, 'ann', asked.questions[0]?.id ?? '', {
    action: 'accept',
    content: { decision: 'allow' },
  })
  const view = await settled(service, id)

  assert.deepEqual([view.state, view.isError, view.denied], ['completed', false, []])
  assert.equal(view.text, `allowed yes${JSON.stringify(TRACE)}`)
  assert.equal(view.usage?.outputTokens, 7)
  assert.ok(await readFile(join(world.directory, 'made.txt')))
  const log = service.readPage(id, 'ann', 'log', 0, 99_999)?.text ?? ''
  assert.match(log, /permission allowed: edit: edit made.txt/)
  assert.match(log, /tool read: read x – completed/)
})

test('a turn that hangs is cancelled, one that crashes is a result, one without login falls back', async context => {
  const world = await agentWorld(context)
  const hosts = [
    world.pool({ id: 'locked', args: ['--auth', 'key'], settings: {} }),
    world.pool({ id: 'open', settings: {} }),
  ]
  const service = deskOf(context, hosts, { routing: { rules: [], default: ['locked', 'open'] } })
  const run = (prompt: string, agent?: string) =>
    service.delegate(request({ prompt, agent, cwd: world.directory }), ANN)
  const fallen = await settled(service, (await run('hello')).id)
  assert.deepEqual([fallen.agent, fallen.text], ['open', 'You said: hello'])
  assert.match(fallen.attempts[0]?.failure ?? '', /^auth: /)

  const crashed = await settled(service, (await run('[[say so far]][[crash 3]]', 'open')).id)
  assert.deepEqual([crashed.state, crashed.isError, crashed.text], ['failed', true, 'so far'])
  assert.match(crashed.why ?? '', /^crash in /)

  const { id } = await run('[[hang]]', 'open')
  await service.wait(id, 'ann', { ms: 20_000, since: 2 })
  assert.equal(service.cancel(id, 'ann', 'enough'), true)
  while (service.agents().some(({ running }) => running > 0)) await new Promise(resolve => setTimeout(resolve, 5))
  const denied = await settled(service, (await run('[[ask execute rm]][[stop cancelled]]', 'open')).id)
  assert.deepEqual([denied.isError, denied.why], [true, 'denied by policy'])
})
