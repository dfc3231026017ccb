import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Ask, AskReply, Clock } from '../../../../src/api/index.ts'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'
import {
  bench,
  callOf,
  clock,
  script,
  stdioSpec,
  textOf,
  toolCall,
  type Bench,
  type TestCall,
} from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

const SERVER = script('turns-server.mjs')
const MODERN = { era: 'modern', version: '2026-07-28' } as const
const CANNOT_TELL = /cannot tell which client/

describe('a call that hangs on a legacy connection that all share', { concurrency: 2 }, () => {
  it('keeps a tool that asks waiting for ten seconds at most, and nobody is asked in its place', async t => {
    const { it, tick } = await server(t)
    await learn(it, 'hold', 'quick', 'ask')
    const hung = it.upstream.dispatch(tool('hold', 'hung'))
    await until(() => it.stderr().includes('hold hung'), 'it hangs')

    const waiting = it.upstream.dispatch(tool('ask', 'waiting'))
    tick(199)
    await it.upstream.dispatch(tool('quick'))
    assert.ok(!it.stderr().includes('ask waiting'))
    tick(1)
    assert.match(textOf(await waiting), CANNOT_TELL)
    assert.match(textOf(await it.upstream.dispatch(tool('ask', 'next'))), CANNOT_TELL, 'without another wait')
    assert.equal(it.asked.length, 1)

    await it.upstream.dispatch(release('hung'))
    await hung
    assert.equal(textOf(await it.upstream.dispatch(tool('ask', 'alone'))), 'alone')
  })

  it('keeps a quick tool waiting for one second once, though the one that hangs was seen to ask', async t => {
    const { it, tick, step } = await server(t)
    await learn(it, 'quick', 'sometimes')
    const first = hang(it, 'hang')
    await until(() => it.stderr().includes('sometimes hang'), 'it hangs')
    const quick = it.upstream.dispatch(tool('quick'))
    tick(20)
    await quick

    const second = hang(it, 'hang')
    for (let n = 0; n < 210; n++) {
      tick(1)
      if (n % 10 === 9) await it.upstream.dispatch(tool('quick'))
    }
    for (const call of [first, second]) call.cancel('it took too long')
    step(3)
    hang(it, 'hang')
    await until(() => it.stderr().filter(line => line === 'sometimes hang').length === 3, 'it hangs again')
    await it.upstream.dispatch(tool('quick'))
  })

  it('makes no tool wait that was open when another one, which is known to ask, could not be told apart', async t => {
    const { it, tick } = await server(t)
    await learn(it, 'hold', 'ask')
    const hung = it.upstream.dispatch(tool('hold', 'hung'))
    await until(() => it.stderr().includes('hold hung'), 'it hangs')
    const waiting = it.upstream.dispatch(tool('ask', 'waiting'))
    tick(200)
    assert.match(textOf(await waiting), CANNOT_TELL)
    await it.upstream.dispatch(release('hung'))
    await hung

    const both = ['one', 'two'].map(text => it.upstream.dispatch(tool('hold', text)))
    await until(() => ['one', 'two'].every(text => it.stderr().includes(`hold ${text}`)), 'side by side')
    for (const text of ['one', 'two']) await it.upstream.dispatch(release(text))
    await Promise.all(both)
  })
})

describe('a cancelled call on a legacy connection that all share', () => {
  it('keeps a tool that asks waiting for two seconds, when its server does not answer it', async t => {
    const { it, step } = await server(t)
    await learn(it, 'hold', 'quick', 'ask')
    const gone = hang(it, 'gone', 'hold')
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')
    const waiting = it.upstream.dispatch(tool('ask', 'mine'))
    step(2)
    await it.upstream.dispatch(tool('quick'))
    assert.ok(!it.stderr().includes('ask mine'))
    step(1)
    assert.equal(textOf(await waiting), 'mine')
  })

  it('does not keep its own client from being asked by its next call at once, be its tool new or known', async t => {
    const { it } = await server(t)
    await learn(it, 'hold')
    const gone = hang(it, 'gone', 'hold')
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')
    for (const text of ['new', 'known']) {
      const next = sameClient(tool('ask', text), gone)
      assert.equal(textOf(await it.upstream.dispatch(next)), text)
      assert.equal(it.asked.at(-1)?.exchange, next.exchange)
    }
  })

  it('keeps a new tool of another client waiting until only that one can have asked', async t => {
    const { it, tick, step } = await server(t)
    await learn(it, 'hold')
    const gone = hang(it, 'gone', 'hold')
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')
    const waiting = it.upstream.dispatch(tool('ask', 'other'))
    tick(59)
    await it.upstream.dispatch(callOf('tools/list'))
    assert.ok(!it.stderr().includes('ask other'))
    step(3)
    assert.equal(textOf(await waiting), 'other')
  })

  it('keeps a new tool of another client waiting for three seconds at most, and its request is for nobody', async t => {
    const { it, tick } = await server(t)
    await learn(it, 'hold')
    const gone = hang(it, 'gone', 'hold')
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')
    const waiting = it.upstream.dispatch(tool('ask', 'other'))
    tick(60)
    assert.match(textOf(await waiting), CANNOT_TELL)
    assert.deepEqual(it.asked, [])
  })

  it('that asks after all asks its own client, in the one call that this has open', async t => {
    const { it } = await server(t)
    await learn(it, 'hold')
    const gone = hang(it, 'gone', 'hold')
    const open = sameClient(tool('hold', 'open'), gone)
    const answer = it.upstream.dispatch(open)
    await until(() => ['gone', 'open'].every(text => it.stderr().includes(`hold ${text}`)), 'both were sent')
    gone.cancel('enough')
    await it.upstream.dispatch(release('gone', true))
    await until(() => it.asked.length === 1, 'the client is asked')
    assert.equal(it.asked[0]?.exchange, open.exchange)
    await it.upstream.dispatch(release('open'))
    await answer
  })
})

describe('a legacy server that asks out of turn', { concurrency: 2 }, () => {
  it('does not fail the call of a modern client that declared nothing and happens to be alone', async t => {
    const gateway = closeAfter(t, await testGateway({ config: { upstreams: { it: stdio() } } }))
    const client = closeAfter(t, await testClient(gateway, { era: 'modern' }))
    for (const text of ['', 'nag', 'nag']) {
      const { result, error } = await client.request('tools/call', {
        name: 'it__nag',
        arguments: { text },
      })
      assert.equal(error, undefined)
      assert.match(JSON.stringify(result), /done/)
    }
  })

  it('asks no client for a call that did not wait for its reply the last time', async t => {
    const { it } = await server(t)
    it.reply = () => new Promise(() => undefined)
    for (const text of ['', 'nag', 'nag'])
      assert.equal(textOf(await it.upstream.dispatch(tool('nag', text))), 'done')

    assert.equal(it.asked.length, 1)
  })

  it('asks no modern client that cannot be asked, while a tool is alone that was never seen to ask', async t => {
    const { it } = await server(t)
    for (const text of ['', 'nag']) await it.upstream.dispatch(toolCall('nag', { text }, undefined, MODERN))

    assert.deepEqual(it.asked, [])
  })
})

function stdio() {
  return { type: 'stdio', command: process.execPath, args: [SERVER], era: 'legacy' } as const
}

/** A server whose scheduler's ticks, and steps of cancelled calls, pass when the test says so. */
async function server(t: TestContext) {
  const due: Record<number, (() => void)[]> = { 50: [], 1000: [] }
  const pass = (ms: number) => (times: number) => {
    for (let n = 0; n < times; n++) for (const run of due[ms]?.splice(0) ?? []) run()
  }
  const time: Clock = {
    now: clock.now,
    after(ms, run) {
      const later = due[ms]
      if (later === undefined) return clock.after(ms, run)
      later.push(run)
      return () => void (later.includes(run) && later.splice(later.indexOf(run), 1))
    },
  }
  const it = await bench(t, stdioSpec([SERVER], { era: 'legacy' }), { clock: time })
  it.reply = async ask => echo(ask)
  await it.upstream.start()
  return { it, tick: pass(50), step: pass(1000) }
}

/** Calls each tool alone, so that it is known whether it asks. */
async function learn(it: Bench, ...names: string[]): Promise<void> {
  for (const name of names) {
    const answer = it.upstream.dispatch(tool(name))
    if (name === 'hold') {
      await until(() => it.stderr().includes('hold '), 'it is open')
      await it.upstream.dispatch(release(''))
    }
    await answer
  }
}

function hang(it: Bench, text: string, name = 'sometimes'): TestCall {
  const call = tool(name, text)
  it.upstream.dispatch(call).catch(() => undefined)
  return call
}

function tool(name: string, text = ''): TestCall {
  return toolCall(name, { text })
}

/** A call of the client that made the other one. */
function sameClient(call: TestCall, { exchange }: TestCall): TestCall {
  return Object.assign(call, { exchange: Object.assign(call.exchange, { session: exchange.session }) })
}

/** Lets a call that is held be answered, or ask first. */
function release(text: string, asks = false): TestCall {
  return callOf('tools/list', { cursor: JSON.stringify({ text, asks }) })
}

function echo(ask: Ask): AskReply {
  return { result: { action: 'accept', content: { text: String(ask.params?.message) } } }
}
