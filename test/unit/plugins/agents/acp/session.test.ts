import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld, allowOnce, fails, listener, say, wanted } from '../kit.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

test('a turn says what the agent says', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const one = listener()
  const session = await agent.openSession(wanted(directory, one.side))
  const end = await session.prompt(say('hello'))

  assert.deepEqual(end.stopReason, 'end_turn')
  assert.equal(end.usage?.outputTokens, 7)
  assert.equal(one.text(), 'You said: hello')
  assert.equal(agent.health.state, 'ready')
  assert.equal(agent.health.facts?.name, 'scripted-agent')
})

test('a second prompt in a session that is busy is refused, and the first one goes on', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, text, until } = listener()
  const session = await pool().openSession(wanted(directory, side))
  const first = session.prompt(say('[[say a]] [[hang]]'))
  await until(() => text() === 'a')

  await assert.rejects(session.prompt(say('b')), fails('busy'))
  session.cancel()
  assert.equal((await first).stopReason, 'cancelled')
  await session.prompt(say('[[say c]]'))
  assert.equal(text(), 'ac')
})

test('a permission is asked with all that was said of the call before, whatever the request itself says', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, requests, text, updates } = listener(allowOnce)
  const session = await pool().openSession(wanted(directory, side))

  await session.prompt(say('[[ask edit a.txt]] [[ask-bare edit b.txt]] [[ask-unannounced execute git status]]'))

  assert.deepEqual(
    requests.map(({ call }) => [call.kind, call.title, call.paths]),
    [
      ['edit', 'edit a.txt', [join(directory, 'a.txt')]],
      ['edit', 'edit b.txt', [join(directory, 'b.txt')]],
      ['execute', 'execute git status', []],
    ],
  )
  assert.deepEqual(requests[2]?.call.rawInput, { command: 'git status' })
  assert.deepEqual(
    requests[0]?.options.map(({ kind }) => kind),
    ['allow_always', 'allow_once', 'reject_once'],
  )
  assert.equal(text(), 'allowed yesallowed yesallowed yes')
  assert.equal(readFileSync(join(directory, 'b.txt'), 'utf8'), 'allowed\n')
  const news = updates.filter(update => update.is === 'tool' && update.isNew)
  assert.equal(news.length, 3)
})

test('an option that was not offered is never chosen', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, text } = listener(() => ({ optionId: 'made-up' }))
  const session = await pool().openSession(wanted(directory, side))
  await session.prompt(say('[[ask edit a.txt]]'))
  assert.equal(text(), 'cancelled')
})

test('updates that nobody knows go on as they came, and junk on stdout does no harm', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, updates, text } = listener()
  const session = await pool().openSession(wanted(directory, side))

  await session.prompt(say('[[junk 50]] [[weird]] [[request $/odd]] [[say fine]]'))

  const seen = updates.map(update => (update.is === 'other' ? update.name : update.is))
  assert.deepEqual(seen, ['from_the_future', 'content', 'agent_message_chunk', 'tool', '', 'text', 'text'])
  const tool = updates.find(update => update.is === 'tool')
  assert.deepEqual(tool?.is === 'tool' && [tool.call.kind, tool.call.status, tool.call.title], [
    undefined,
    'pending',
    '',
  ])
  assert.match(text(), /fine$/)
})

test('an agent has a HOME of its own that only its owner reads, and no variable that nobody allowed', async t => {
  process.env.AGENTS_TEST_SECRET = 'top-secret'
  cleanup(t, () => delete process.env.AGENTS_TEST_SECRET)
  const { pool, directory } = await agentWorld(t)
  const { side, text } = listener()
  const session = await pool({ settings: { env: { OWN: 'set' } } }).openSession(wanted(directory, side))
  await session.prompt(say('[[env HOME]] [[say ,]] [[env OWN]] [[say ,]] [[env AGENTS_TEST_SECRET]] [[say ,]] [[cwd]]'))

  const home = join(directory, 'state', 'homes', 'scripted')
  assert.equal(text(), `HOME=${home},OWN=set,AGENTS_TEST_SECRET=,${directory}`)
  assert.equal(statSync(home).mode & 0o777, 0o700)
})

test('a session is taken up again after a restart: resumed, else loaded without its history, else lost', async t => {
  const { pool, directory } = await agentWorld(t)
  const store = ['--store', join(directory, 'sessions')]
  const first = pool({ args: store })
  const { id } = await (async () => {
    const session = await first.openSession(wanted(directory, listener().side))
    await session.prompt(say('one'))
    return session
  })()
  await first.stop()

  const loaded = listener()
  const again = await pool({ args: store }).openSession(wanted(directory, loaded.side, { resume: id }))
  await again.prompt(say('[[history]]'))
  const resumed = listener()
  const third = await pool({ args: [...store, '--resume', '--no-load'] }).openSession(
    wanted(directory, resumed.side, { resume: id }),
  )
  await third.prompt(say('[[turns]]'))

  assert.deepEqual([again.id, loaded.text()], [id, '["one"]'])
  assert.equal(resumed.text(), 'turns 3')
  const none = pool({ args: ['--no-load'] })
  await assert.rejects(none.openSession(wanted(directory, listener().side, { resume: id })), fails('lost', 'session'))
  await assert.rejects(
    pool().openSession(wanted(directory, listener().side, { resume: 'unknown' })),
    fails('lost', 'session'),
  )
})

test('a session is set to mode, model and options, and what the agent does not offer is refused with what it offers', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, text } = listener()
  const settings = { mode: 'write', model: 'large', options: { fast: true } }
  const session = await pool({ args: ['--options'], settings }).openSession(wanted(directory, side))
  await session.prompt(say('[[session]]'))
  const older = listener()
  const other = await pool({ args: ['--modes'], settings: { mode: 'read-only' } }).openSession(
    wanted(directory, older.side),
  )
  await other.prompt(say('[[session]]'))

  assert.equal(text(), '{"mode":"write","model":"large","fast":true}')
  assert.match(older.text(), /"mode":"read-only"/)
  const wrong = pool({ args: ['--options'], settings: { mode: 'yolo' } })
  await assert.rejects(
    wrong.openSession(wanted(directory, listener().side)),
    fails('refused', 'session', /value "yolo" for mode.*ask, write, read-only/),
  )
  assert.equal(wrong.processes, 0)
})
