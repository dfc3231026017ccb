import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentFailure } from '../../../../../plugins/agents/types.ts'
import { agentWorld, fails, listener, say, wanted } from '../kit.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'

const BLINK = { timeouts: { initialize: '400ms', session: '400ms' } }

test('an agent that never answers, or dies before it does, is unavailable, and says in which phase', async t => {
  const { pool, directory } = await agentWorld(t)
  const open = (args: string[], settings = {}) => {
    const agent = pool({ args, settings })
    const opened = agent.openSession(wanted(directory, listener().side))
    opened.catch(() => undefined)
    return { agent, opened }
  }
  const silent = open(['--hang', 'initialize'], BLINK)
  const dead = open(['--crash', 'initialize'])
  const future = open(['--protocol', '2'])
  const strange = open(['--answer', 'initialize={}'])

  await assert.rejects(silent.opened, fails('timeout', 'initialize', /initialize timed out after 400 ms/))
  await assert.rejects(dead.opened, fails('spawn', 'initialize', /exited with code 3.*last words before initialize/s))
  await assert.rejects(future.opened, fails('protocol', 'initialize', /uses protocol version 2/))
  await assert.rejects(strange.opened, fails('protocol', 'initialize', /no protocolVersion/))
  for (const { agent } of [silent, dead, future, strange]) {
    assert.equal(agent.health.state, 'unavailable')
    assert.equal(agent.processes, 0)
  }
  assert.doesNotMatch(dead.agent.health.why ?? '', /last words/)
})

test('a session that is not opened in time fails, and takes its process along', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ args: ['--hang', 'session/new'], settings: { timeouts: { session: '300ms' } } })
  await assert.rejects(
    agent.openSession(wanted(directory, listener().side)),
    fails('timeout', 'session', /session\/new timed out after 300 ms/),
  )
  assert.equal(agent.processes, 0)

  const dies = pool({ args: ['--crash', 'session/new'] })
  await assert.rejects(dies.openSession(wanted(directory, listener().side)), fails('crash', 'process', /last words/))
  const nameless = pool({ args: ['--answer', 'session/new={"sessionId":7}'] })
  await assert.rejects(
    nameless.openSession(wanted(directory, listener().side)),
    fails('protocol', 'session', /without an id/),
  )
})

test('a login that is missing is told with the methods there are; the configured one is used, a terminal never', async t => {
  const { pool, directory } = await agentWorld(t)
  const wishes = () => wanted(directory, listener().side)
  const none = pool({ args: ['--auth', 'api-key'] })
  await assert.rejects(
    none.openSession(wishes()),
    fails('auth', 'session', /methods: api-key, login \(in a terminal\)/),
  )
  assert.equal(none.health.state, 'needs_auth')

  const settings = { auth: { method: 'api-key' } }
  const session = await pool({ args: ['--auth', 'api-key'], settings }).openSession(wishes())
  assert.match(session.id, /^s-/)
  const provider = {
    id: 'main',
    api: 'openai',
    url: 'http://127.0.0.1:9/v1',
    headers: { authorization: 'Bearer x' },
  }
  await pool({ args: ['--provider', 'main'], settings: { auth: { provider } } }).openSession(wishes())

  const terminal = pool({ args: ['--auth', 'api-key'], settings: { auth: { method: 'login' } } })
  await assert.rejects(terminal.openSession(wishes()), fails('auth', 'auth', /this method requires a terminal/))
  const other = pool({ args: ['--auth', 'api-key'], settings: { auth: { method: 'oauth' } } })
  await assert.rejects(
    other.openSession(wishes()),
    fails('auth', 'auth', /it does not offer this method; methods that work without a terminal: api-key/),
  )
})

test('a crash in a turn fails its session with the last words, which only the owner may read', async t => {
  const { pool, directory } = await agentWorld(t)
  const crashing = await pool().openSession(wanted(directory, listener().side))

  const error = await crashing.prompt(say('[[crash 9]]')).catch((thrown: unknown) => thrown as AgentFailure)

  assert.ok(error instanceof AgentFailure)
  assert.equal(error.kind, 'crash')
  assert.match(error.message, /exited with code 9$/)
  assert.match(String(error.lastWords), /last words of a crash/)
  await assert.rejects(crashing.prompt(say('again')), fails('crash'))
})

test('limits are known by code, status and quota fields, and never by prose', async t => {
  const { pool, directory } = await agentWorld(t)
  const session = await pool().openSession(wanted(directory, listener().side))
  const kindOf = async (script: string) =>
    session.prompt(say(script)).then(
      () => 'none',
      (error: unknown) => (error as AgentFailure).kind,
    )

  const kinds = []
  for (const script of [
    '[[error -32603 Internal error {"status":429}]]',
    '[[error -32603 Internal error {"error":{"code":"insufficient_quota"}}]]',
    '[[error -32000 x {"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"}]}]]',
    '[[error 429 Too many]]',
    '[[error -32603 rate limit exceeded, quota gone, 429]]',
    '[[error -32603 no {"message":"quota exceeded 429"}]]',
    '[[error -32000 log in first]]',
    '[[error 401 {"error":{"code":401}}]]',
    '[[answer {"stopReason":"weird"}]]',
  ])
    kinds.push(await kindOf(script))

  assert.deepEqual(kinds, ['limit', 'limit', 'limit', 'limit', 'refused', 'refused', 'auth', 'auth', 'protocol'])
})

test('an answer of no known shape is a broken protocol', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const session = await agent.openSession(wanted(directory, listener().side))
  await assert.rejects(session.prompt(say('[[answer {}]]')), fails('protocol', 'prompt', /unknown stopReason: nothing/))
})

test('a line that is too long ends the process', async t => {
  const { pool, directory } = await agentWorld(t)
  const long = await pool({ settings: { output: { maxLine: '64KiB' } } }).openSession(
    wanted(directory, listener().side),
  )
  await assert.rejects(long.prompt(say('[[line 70000]] [[hang]]')), fails('crash', 'process', /exceeds 65536 bytes/))
})

test('a turn without a sign of life, or that goes quiet fails with its phase, and the process is ended', async t => {
  const { pool, directory } = await agentWorld(t)
  const run = async (script: string, settings: object) => {
    const session = await pool({ settings }).openSession(wanted(directory, listener().side))
    const { pid } = session
    const error = await session.prompt(say(script)).catch((thrown: unknown) => thrown as AgentFailure)
    await session.close()
    return { error: error as AgentFailure, pid }
  }
  const runs = await Promise.all([
    run('[[hang]]', { timeouts: { idle: '300ms' } }),
    run('[[say a]] [[deaf]]', { timeouts: { idle: '300ms' } }),
  ])

  assert.deepEqual(
    runs.map(({ error }) => [error.kind, error.phase]),
    [
      ['timeout', 'idle'],
      ['timeout', 'idle'],
    ],
  )
})

const MINUTE = 60_000

test('an agent that waits for our answer is not idle', async t => {
  const { pool, directory } = await agentWorld(t)
  const clock = new HandClock()
  const { side, text } = listener(async () => {
    clock.pass(29 * MINUTE)
    return { optionId: 'no' }
  })
  const settings = { timeouts: { idle: '1m', turn: '30m' } }
  const session = await pool({ settings, parts: { clock } }).openSession(wanted(directory, side))
  assert.equal((await session.prompt(say('[[ask edit a]]'))).stopReason, 'end_turn')
  assert.equal(text(), 'rejected no')
})
