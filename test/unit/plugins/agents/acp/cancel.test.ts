import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentWorld, listener, say, wanted } from '../kit.ts'

test('a cancelled turn is cancelled, whatever comes after: a late end, a question, or nothing at all', async t => {
  const { pool, directory } = await agentWorld(t)
  const agent = pool()
  const run = async (script: string, host = agent) => {
    const heard = listener(() => new Promise(() => undefined))
    const session = await host.openSession(wanted(directory, heard.side))
    const ended = session.prompt(say(script))
    await heard.until(() => heard.text() !== '' || heard.requests.length > 0)
    session.cancel()
    session.cancel()
    const { stopReason } = await ended
    return { stopReason, heard, pid: session.pid }
  }
  const late = await run('[[say a]] [[hang-late]]')
  const asking = await run('[[ask edit a.txt]]')
  const asksLate = await run('[[say a]] [[ask-late edit a.txt]]')
  const deaf = await run('[[say a]] [[deaf]]', pool({ settings: { timeouts: { cancel: '300ms' } } }))

  assert.deepEqual(
    [late, asking, asksLate, deaf].map(each => each.stopReason),
    Array(4).fill('cancelled'),
  )
  assert.equal(late.heard.text(), 'aI had done it already')
  assert.equal(asking.heard.text(), 'cancelled')
  assert.equal(asking.heard.requests[0]?.signal?.aborted, true)
  assert.equal(asksLate.heard.text(), 'acancelled')
  assert.equal(asksLate.heard.requests.length, 0)
})

test('a permission that the agent takes back is answered so, and whoever decides hears of it', async t => {
  const { pool, directory } = await agentWorld(t)
  const { side, requests, text } = listener(() => new Promise(() => undefined))
  const session = await pool().openSession(wanted(directory, side))
  await session.prompt(say('[[ask-withdrawn edit a.txt]]'))
  assert.equal(text(), 'error -32800')
  assert.equal(requests[0]?.signal?.aborted, true)
})
