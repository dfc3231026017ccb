import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Ask, AskReply } from '../../../../src/api/index.ts'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'
import { bench, callOf, script, stdioSpec, textOf, toolCall, type TestCall } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

const SERVER = script('turns-server.mjs')
const MODERN = { era: 'modern', version: '2026-07-28' } as const
const CANNOT_TELL = /ambiguous client.*isolation: session.*limits\.concurrency: 1/

describe('a legacy server that asks on a connection that all share', { concurrency: 2 }, () => {
  it('reaches the client of the only open call', async t => {
    const it = await server(t)
    const call = tool('twice', 'well')

    assert.equal(textOf(await it.upstream.dispatch(call)), 'well well')
    assert.ok(it.asked.every(({ exchange }) => exchange === call.exchange))
  })

  it('reaches the client of all open calls', async t => {
    const it = await server(t)
    const first = tool('hold', 'open')
    const held = it.upstream.dispatch(first)
    await until(() => it.stderr().includes('hold open'), 'one call is open')

    const calls = ['one', 'two', 'three'].map(text => sameClient(tool('ask', text), first))
    const answers = await Promise.all(calls.map(call => it.upstream.dispatch(call)))
    assert.deepEqual(answers.map(textOf), ['one', 'two', 'three'])
    await it.upstream.dispatch(release('open'))
    await held
  })

  it('is refused while calls of two clients are open, with one warning that says what to set', async t => {
    const it = await server(t)
    const held = it.upstream.dispatch(tool('hold', 'open'))
    await until(() => it.stderr().includes('hold open'), 'one call is open')

    assert.match(textOf(await it.upstream.dispatch(tool('ask'))), CANNOT_TELL)
    assert.match(textOf(await it.upstream.dispatch(tool('ask'))), CANNOT_TELL)
    await it.upstream.dispatch(release('open'))
    await held

    assert.deepEqual(it.asked, [])
    const warnings = it.logs.filter(({ level }) => level === 'warn')
    assert.equal(warnings.length, 1)
    assert.equal(textOf(await it.upstream.dispatch(tool('ask', 'alone'))), 'alone')
  })

  it('is refused while no call is open', async t => {
    const it = await server(t)
    await it.upstream.dispatch(callOf('tools/list', { cursor: JSON.stringify({ uncalled: true }) }))
    await until(() => it.stderr().some(line => line.startsWith('uncalled')), 'it has its reply')

    assert.match(it.stderr().join(), CANNOT_TELL)
    assert.deepEqual(it.asked, [])
  })

  it('asks each client its own where one call runs at a time', async t => {
    const upstream = { ...stdio(), prefix: '', limits: { concurrency: 1 } }
    const gateway = closeAfter(t, await testGateway({ config: { upstreams: { it: upstream } } }))
    const names = ['one', 'two', 'three', 'four']

    const answers = await Promise.all(
      names.map(async name => {
        const capabilities = { elicitation: { form: {} } }
        const client = closeAfter(t, await testClient(gateway, { era: 'modern', capabilities }))
        const call = { name: 'ask', arguments: { text: name } }
        const { result } = await client.request('tools/call', call)
        const { inputRequests, requestState } = result as { inputRequests: object; requestState: string }
        assert.match(JSON.stringify(inputRequests), new RegExp(`"message":"${name}"`))
        const reply = { action: 'accept', content: { text: name } }
        const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, reply]))
        return client.request('tools/call', { ...call, requestState, inputResponses })
      }),
    )

    answers.forEach(({ result }, n) => assert.match(JSON.stringify(result), new RegExp(String(names[n]))))
  })

  it('asks no modern client that cannot be asked, and does not fail its call', async t => {
    const it = await server(t)
    for (const text of ['', 'nag'])
      assert.equal(textOf(await it.upstream.dispatch(toolCall('nag', { text }, undefined, MODERN))), 'done')

    assert.deepEqual(it.asked, [])
  })
})

describe('a cancelled call on a connection that all share', { concurrency: 2 }, () => {
  it('keeps other clients from being asked until the server has answered it', async t => {
    const it = await server(t)
    const gone = hang(it)
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')

    assert.match(textOf(await it.upstream.dispatch(tool('ask', 'other'))), CANNOT_TELL)
    await it.upstream.dispatch(release('gone'))
    assert.equal(textOf(await it.upstream.dispatch(tool('ask', 'other'))), 'other')
  })

  it('does not keep its own client from being asked', async t => {
    const it = await server(t)
    const gone = hang(it)
    await until(() => it.stderr().includes('hold gone'), 'it was sent')
    gone.cancel('enough')

    const next = sameClient(tool('ask', 'next'), gone)
    assert.equal(textOf(await it.upstream.dispatch(next)), 'next')
    assert.equal(it.asked.at(-1)?.exchange, next.exchange)
  })
})

function stdio() {
  return { type: 'stdio', command: process.execPath, args: [SERVER], era: 'legacy' } as const
}

async function server(t: TestContext) {
  const it = await bench(t, stdioSpec([SERVER], { era: 'legacy' }))
  it.reply = async ask => echo(ask)
  await it.upstream.start()
  return it
}

/** Makes a call that stays open until it is released. */
function hang(it: Awaited<ReturnType<typeof server>>): TestCall {
  const call = tool('hold', 'gone')
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

/** Lets a call that is held be answered. */
function release(text: string): TestCall {
  return callOf('tools/list', { cursor: JSON.stringify({ text }) })
}

function echo(ask: Ask): AskReply {
  return { result: { action: 'accept', content: { text: String(ask.params?.message) } } }
}
