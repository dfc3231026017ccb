// Agents that nobody here wrote, in whole turns through the gateway, against a model of our own: npm run test:agents
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { installAgents } from '../fixtures/agents/install.ts'
import type { ModelRequest } from '../fixtures/model/server.ts'
import { hasEnded, World, type Told, type User } from './world.ts'
import { cleanup } from '../fixtures/cleanup.ts'

const installed = await installAgents()
const skip = 'whyNot' in installed && installed.whyNot
const AGENTS = ['opencode', 'gemini'] as const
type Agent = (typeof AGENTS)[number]

/** The tool with which each of them writes a file. */
const WRITES: Readonly<Record<Agent, (path: string) => string>> = {
  opencode: path => `[[tool:write ${JSON.stringify({ filePath: path, content: 'tea' })}]]`,
  gemini: path => `[[tool:write_file ${JSON.stringify({ file_path: path, content: 'tea' })}]]`,
}

const isOpen = (requests: readonly ModelRequest[]): boolean => requests.some(({ outcome }) => outcome === 'open')
const isGivenUp = (requests: readonly ModelRequest[]): boolean =>
  !isOpen(requests) && requests.some(({ outcome }) => outcome === 'aborted')

const newWorld = (): World => {
  assert.ok('agents' in installed)
  return new World(installed.agents)
}

describe('opencode and gemini-cli behind the gateway', { skip }, () => {
  let world: World
  let user: User

  before(async () => {
    world = newWorld()
    await world.start()
    user = await world.user()
  })
  after(() => world.end())

  for (const agent of AGENTS) {
    test(`${agent} does a task while its caller waits`, async () => {
      const told = await user.delegate({ agent, prompt: 'Say something' })

      assert.equal(told.text, 'You said: Say something')
      assert.deepEqual([told.state, told.agent, told.denied], ['completed', agent, []])
    })

    test(`${agent} does a task in the background, and all of a long text is there to be paged`, async () => {
      const begun = await user.call('delegate_task', {
        agent,
        prompt: '[[sleep:500]][[big:100000]]',
        background: true,
      })
      assert.ok(!hasEnded(begun), begun.state)
      const { task_id, text, state } = await user.follow(begun.task_id, hasEnded)

      const offset = 100_000 - 1000
      const page = await user.call('agent_result', { task_id, offset })

      assert.deepEqual([state, text.length], ['completed', 64 * 1024])
      assert.match(page.text, /^0012375 [\d ]* 0012499 done$/)
    })

    test(`${agent} asks before it writes, and the answer of the client holds`, async () => {
      const [allowed, denied] = ['allowed', 'denied'].map(word => join(world.work, `${agent}-${word}`)) as [
        string,
        string,
      ]
      user.asked.length = 0
      const done = await user.delegate({ agent, prompt: WRITES[agent](allowed) })
      user.decision = 'deny'
      const refused = await user.delegate({ agent, prompt: WRITES[agent](denied) })
      user.decision = 'allow'

      assert.equal(readFileSync(allowed, 'utf8').trim(), 'tea')
      assert.deepEqual(done.denied, [])
      assert.ok(!existsSync(denied))
      assert.equal(refused.denied.length, 1)
      assert.deepEqual(
        [allowed, denied].map((path, index) => user.asked[index]?.includes(path)),
        [true, true],
      )
      assert.equal(user.asked.length, 2)
    })

    test(`${agent} asks a modern client as well`, async () => {
      const modern = await world.user('modern')
      const path = join(world.work, `${agent}-modern`)
      const told = await modern.delegate({ agent, prompt: WRITES[agent](path) })

      assert.equal(told.state, 'completed')
      assert.equal(readFileSync(path, 'utf8').trim(), 'tea')
      assert.equal(modern.asked.length, 1)
    })

    test(`${agent} calls a tool of the gateway`, async () => {
      const told = await user.delegate({ agent, prompt: '[[tool:read_text_file {"path":"tea.md"}]]' })

      assert.match(told.text, /The tea is in the blue tin/)
      assert.deepEqual(told.warnings, [])
    })

    test(`${agent} sees of the gateway what it may use, and no way to delegate`, async () => {
      const told = await user.delegate({ agent, prompt: '[[tool:delegate_task {"prompt":"again"}]]' })

      assert.match(told.text, /I have no tool delegate_task, only .*files__read_text_file/)
    })

    test(`${agent} stops when its task is cancelled, and so does its model`, async () => {
      const prompt = `${agent} [[sleep:300000]]`
      const { task_id } = await user.call('delegate_task', { agent, prompt, background: true })
      await world.untilAsked(prompt, isOpen)
      await user.call('agent_cancel', { task_id })
      const told = await user.follow(task_id, hasEnded)

      await world.untilAsked(prompt, isGivenUp)
      assert.equal(told.state, 'cancelled')
    })

    test(`${agent} stops when the call that waits for it is given up`, async () => {
      const prompt = `${agent} for a while [[sleep:300000]]`
      const gaveUp = new AbortController()
      const call = user.call('delegate_task', { agent, prompt }, gaveUp.signal)
      await world.untilAsked(prompt, isOpen)
      gaveUp.abort()

      await assert.rejects(call)
      await world.untilAsked(prompt, isGivenUp)
    })
  }

  test('both work side by side', async () => {
    const delegated = AGENTS.map(agent => user.delegate({ agent, prompt: '[[sleep:1000]]Side by side' }))

    const told = await Promise.all(delegated)

    assert.deepEqual(
      told.map(({ agent, state }) => [agent, state]),
      AGENTS.map(agent => [agent, 'completed']),
    )
  })

  test('nothing is left of them when the gateway has stopped', async t => {
    await world.stop()
    t.diagnostic(`hosts that they wanted and did not get: ${(await world.elsewhere()).join(', ') || 'none'}`)

    assert.deepEqual(await world.left(), [])
  })
})

/** Gemini cannot load what it has not saved yet; as it had changed nothing, its prompt was said once more. */
function assertBegunAnew({ text, warnings }: Told): void {
  assert.equal(text, 'done')
  assert.match(warnings.join(), /could not be taken up again/)
}

describe('opencode and gemini-cli, whose gateway ends', { skip }, () => {
  test('a gateway that is killed leaves no process, and its tasks go on in the next one', async t => {
    const world = newWorld()
    cleanup(t, () => world.end())
    await world.start()
    const before = await world.user()
    const prompt = (agent: Agent): string => `${agent} remembers [[sleep:${agent === 'gemini' ? 4000 : 300_000}]]`
    const begin = (agent: Agent): Promise<Told> =>
      before.call('delegate_task', { agent, prompt: prompt(agent), background: true })
    const opencode = await begin('opencode')
    await world.untilAsked(prompt('opencode'), isOpen)
    const gemini = await begin('gemini')
    await world.untilAsked(prompt('gemini'), isOpen)
    await world.kill()
    const left = await world.left()
    await world.start()
    const user = await world.user()

    const [interrupted, other] = await Promise.all(
      [opencode, gemini].map(({ task_id }) => user.call('agent_status', { task_id })),
    )
    const goOn = async ({ task_id }: Told, message: string): Promise<Told> => {
      await user.call('agent_reply', { task_id, content: { message }, wait_ms: 0 })
      return user.follow(task_id, hasEnded)
    }
    const resumed = await goOn(opencode, '[[history]]')
    const again = await goOn(gemini, '[[history]]')

    assert.deepEqual(left, [])
    assert.deepEqual([interrupted?.state, other?.state], ['interrupted', 'interrupted'])
    assert.equal(resumed.session_id, interrupted?.session_id, 'opencode takes its session up again')
    assert.match(resumed.text, /HISTORY<2: opencode remembers/)
    assert.equal(again.state, 'completed')
    if (again.session_id === other?.session_id) assert.match(again.text, /HISTORY<.*gemini remembers/s)
    else assertBegunAnew(again)
    await world.stop()
    assert.deepEqual(await world.left(), [])
  })
})
