// Agents that nobody here wrote, or that are made with what others wrote.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { agentWorld, allowOnce, listener, say, wanted } from '../kit.ts'

const SDK_AGENT = fileURLToPath(new URL('../../../../fixtures/acp/sdk-agent.ts', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('examples/agent.js', import.meta.resolve('acp-sdk-1')))

test('an agent made with the SDK opens sessions, works, and asks', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, text, requests } = listener(allowOnce)
  const session = await pool({ script: SDK_AGENT }).openSession(wanted(directory, side))
  const end = await session.prompt(say('hello'))
  await session.prompt(say('ask'))

  assert.equal(end.stopReason, 'end_turn')
  assert.equal(text(), 'You said: hellogo')
  assert.equal(requests[0]?.call.title, 'work')
})

test("the example agent of the SDK's first generation works until it is cancelled", async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, until, updates } = listener(allowOnce)
  const session = await pool({ script: EXAMPLE }).openSession(wanted(directory, side))
  const ended = session.prompt(say('hello'))
  await until(() => updates.length > 0)
  session.cancel()
  assert.equal((await ended).stopReason, 'cancelled')
})
