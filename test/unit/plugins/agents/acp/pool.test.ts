import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Places } from '../../../../../plugins/agents/processes/process-quota.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'
import { agentWorld, fails, isAlive, listener, say, wanted } from '../kit.ts'

test('sessions fill a process up to its bound, then a second one, and then they wait their turn', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ settings: { pool: { processes: 2, sessions: 2 } } })
  const open = (signal?: AbortSignal) =>
    agent.open(wanted(directory, listener().side, signal === undefined ? {} : { signal }))
  const sessions = await Promise.all([open(), open(), open(), open()])
  const pids = sessions.map(({ pid }) => pid)
  assert.equal(new Set(pids).size, 2)
  assert.deepEqual(agent.load, { processes: 2, sessions: 4 })

  const given = new AbortController()
  const givenUp = assert.rejects(open(given.signal), fails('stopped', 'place'))
  const waiting = open()
  given.abort()
  await givenUp
  await sessions[3]?.close()
  assert.equal((await waiting).pid, sessions[3]?.pid)
})

test('a process is replaced after its turns, takes no new session meanwhile, and ends with its last one', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ settings: { pool: { maxTurns: 1 } } })
  const one = await agent.open(wanted(directory, listener().side))
  const two = await agent.open(wanted(directory, listener().side))
  assert.equal(one.pid, two.pid)
  await one.prompt(say('hi'))
  const three = await agent.open(wanted(directory, listener().side))
  assert.notEqual(three.pid, one.pid)
  assert.equal((await two.prompt(say('still here'))).stopReason, 'end_turn')

  await one.close()
  assert.equal(isAlive(one.pid), true)
  await two.close()
  await gone(one.pid)
})

test('a process that does nothing for its time ends, and one that is too old or too large is not used again', async t => {
  const { pool, directory } = await agentWorld(t)
  const use = async (settings: object) => {
    const agent = pool({ settings: { pool: settings } })
    const session = await agent.open(wanted(directory, listener().side))
    await session.close()
    await gone(session.pid)
    return agent
  }
  const [idle] = await Promise.all([
    use({ idle: '50ms' }),
    use({ maxAge: '1ms' }),
    use({ maxMemory: '1MiB' }),
  ])
  assert.deepEqual(idle.load, { processes: 0, sessions: 0 })
})

test('a process that gets a session just before its idle time is over keeps it', async t => {
  const { pool, directory } = await agentWorld(t)
  const clock = new HandClock()
  const agent = pool({ parts: { clock }, settings: { pool: { idle: '40s' } } })
  const first = await agent.open(wanted(directory, listener().side))
  await first.close()
  clock.pass(39_000)
  const heard = listener(() => {
    clock.pass(2000)
    return { optionId: 'no' }
  })
  const second = await agent.open(wanted(directory, heard.side))

  assert.equal((await second.prompt(say('[[ask edit a]]'))).stopReason, 'end_turn')
  assert.equal(second.pid, first.pid)
  await second.close()
  clock.pass(41_000)
  await gone(second.pid)
})

test('warm processes are there before anybody asks, and stay', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ settings: { pool: { warm: 1, idle: '20ms' } } })
  agent.warm()
  assert.equal((await agent.probe()).state, 'ready')
  assert.deepEqual(agent.load, { processes: 1, sessions: 0 })
  await new Promise(resolve => setTimeout(resolve, 60))
  const session = await agent.open(wanted(directory, listener().side))
  assert.deepEqual(agent.load, { processes: 1, sessions: 1 })
  assert.equal(isAlive(session.pid), true)
})

test('the bound over all agents holds, and an idle process of one makes room for another', async t => {
  const { pool, directory } = await agentWorld(t)
  const places = new Places(1)
  const one = pool({ id: 'one', parts: { places } })
  const other = pool({ id: 'other', parts: { places } })
  const first = await one.open(wanted(directory, listener().side))
  const waiting = other.open(wanted(directory, listener().side))
  await first.prompt(say('hi'))
  assert.equal(other.load.processes, 0)
  await first.close()

  const second = await waiting
  assert.equal(isAlive(first.pid), false)
  assert.equal((await second.prompt(say('hi'))).stopReason, 'end_turn')
})

test('a probe says what an agent is, and whether it wants a login', async t => {
  const { pool } = await agentWorld(t)
  const health = await pool({ args: ['--resume', '--auth', 'key'] }).probe()
  assert.equal(health.state, 'needs_auth')
  const { canLoad, canResume, canClose, mcpHttp, images, protocol } = health.facts ?? {}
  assert.deepEqual(
    { canLoad, canResume, canClose, mcpHttp, images, protocol },
    {
      ...{ canLoad: true, canResume: true, canClose: true, mcpHttp: true, images: true, protocol: 1 },
    },
  )
  assert.deepEqual(
    health.facts?.authMethods.map(({ type }) => type),
    ['agent', 'terminal'],
  )
  const missing = await pool({ command: 'no-such-agent' }).probe()
  assert.equal(missing.state, 'unavailable')
  assert.match(missing.why ?? '', /no-such-agent" cannot be run: it is not there/)
})

test('an agent whose model wanted a login, and that opens a session now, is ready for no other reason', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const session = await agent.open(wanted(directory, listener().side))
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
  const agent = pool({ settings: { pool: { processes: 1, sessions: 1 } } })
  const heard = listener()
  const session = await agent.open(wanted(directory, heard.side))
  const prompt = assert.rejects(session.prompt(say('[[say a]] [[hang]]')), fails('stopped'))
  const waiting = assert.rejects(agent.open(wanted(directory, heard.side)), fails('stopped'))
  const starting = pool({ args: ['--hang', 'initialize'] })
  const never = assert.rejects(starting.open(wanted(directory, heard.side)), fails('stopped'))
  await heard.until(() => heard.text() === 'a')

  await Promise.all([agent.stop(), starting.stop()])

  await Promise.all([prompt, waiting, never])
  assert.equal(isAlive(session.pid), false)
  await assert.rejects(agent.open(wanted(directory, heard.side)), fails('stopped'))
})

test('whoever gives up on a start leaves it to the others', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool({ args: ['--delay', 'initialize=200'] })
  const given = new AbortController()
  const lost = assert.rejects(
    agent.open(wanted(directory, listener().side, { signal: given.signal })),
    fails('stopped'),
  )
  const kept = agent.open(wanted(directory, listener().side))
  given.abort()
  await lost
  assert.equal((await (await kept).prompt(say('hi'))).stopReason, 'end_turn')
  assert.deepEqual(agent.load, { processes: 1, sessions: 1 })
})

/** Resolves when a process is gone; the runner's own timeout says when it is not. */
async function gone(pid: number | undefined): Promise<void> {
  while (isAlive(pid)) await new Promise(resolve => setTimeout(resolve, 10))
}
