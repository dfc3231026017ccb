import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentWorld, fails, isAlive, listener, say, wanted } from '../kit.ts'

test('each session has a process, which ends with it', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const first = await agent.openSession(wanted(directory, listener().side))
  const second = await agent.openSession(wanted(directory, listener().side))
  assert.notEqual(first.pid, second.pid)
  assert.equal(agent.processes, 2)

  await first.close()
  assert.equal(isAlive(first.pid), false)
  assert.equal(agent.processes, 1)
  assert.equal((await second.prompt(say('hi'))).stopReason, 'end_turn')
})

test('a probe says what an agent is, and whether it wants a login', async t => {
  const { pool } = await agentWorld(t)
  const health = await pool({ args: ['--resume', '--auth', 'key'] }).probe()
  assert.equal(health.state, 'needs_auth')
  const { canLoad, canResume, mcpHttp, protocol } = health.facts ?? {}
  assert.deepEqual([canLoad, canResume, mcpHttp, protocol], [true, true, true, 1])
  assert.deepEqual(
    health.facts?.authMethods.map(({ type }) => type),
    ['agent', 'terminal'],
  )
  const missing = await pool({ command: 'no-such-agent' }).probe()
  assert.equal(missing.state, 'unavailable')
  assert.match(missing.why ?? '', /cannot run "no-such-agent": not found/)
})

test('an agent whose model wanted a login, and that opens a session now, is ready for no other reason', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const session = await agent.openSession(wanted(directory, listener().side))
  await assert.rejects(session.prompt(say('[[error 401 no key]]')), fails('auth', 'prompt'))
  assert.equal(agent.health.state, 'needs_auth')

  const { state, why } = await agent.probe()

  assert.deepEqual([state, why], ['ready', undefined])
})

test('a probe says which mode an agent begins in by itself, and nothing where the mode is set', async t => {
  const { pool } = await agentWorld(t)
  const ownModeOf = async (flag: string, settings: object) =>
    (await pool({ args: [flag], settings }).probe()).facts?.ownMode

  assert.equal(await ownModeOf('--modes', {}), 'ask')
  assert.equal(await ownModeOf('--options', {}), 'ask')
  assert.equal(await ownModeOf('--modes', { mode: 'write' }), undefined)
  assert.equal(await ownModeOf('--resume', {}), undefined)
})

test('what stops fails with that, in whatever it was, and nothing is left', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const heard = listener()
  const session = await agent.openSession(wanted(directory, heard.side))
  const prompt = assert.rejects(session.prompt(say('[[say a]] [[hang]]')), fails('stopped'))
  const starting = pool({ args: ['--hang', 'initialize'] })
  const never = assert.rejects(starting.openSession(wanted(directory, heard.side)), fails('stopped'))
  await heard.until(() => heard.text() === 'a')

  await Promise.all([agent.stop(), starting.stop()])

  await Promise.all([prompt, never])
  assert.equal(isAlive(session.pid), false)
  await assert.rejects(agent.openSession(wanted(directory, heard.side)), fails('stopped'))
})

test('whoever gives up on a start leaves nothing', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ args: ['--delay', 'initialize=200'] })
  const given = new AbortController()
  const lost = assert.rejects(
    agent.openSession(wanted(directory, listener().side, { signal: given.signal })),
    fails('stopped'),
  )
  given.abort()
  await lost
  assert.equal(agent.processes, 0)
})
