import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { Notification, Session } from '../../../src/api/index.ts'
import { type Heard, event, legacy, peer, said, stream } from '../fixtures/http-peer.ts'
import {
  type TestCall,
  bench,
  callOf,
  httpSpec,
  program,
  script,
  stdioSpec,
  textOf,
  toolCall,
} from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')
const FULL = { capabilities: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } } }

describe('a request of a server on a pipe', { concurrency: 4 }, () => {
  it('is refused while two calls are open, as it could be for either', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))
    const held = it.upstream.dispatch(toolCall('hold'))
    await until(() => it.stderr().includes('holds 1'), 'one call is open')

    await it.upstream.dispatch(toolCall('ask-in-vain'))
    await it.upstream.dispatch(toolCall('release'))
    await held

    assert.deepEqual(it.asked, [])
    assert.match(it.stderr().join(), /reply ask-1 \{"code":-32603,"message":"ambiguous client/)
  })

  it('that is taken back is not answered, and one made twice or never taken back is counted', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))
    let answer = (): void => undefined
    it.reply = () => new Promise(resolve => (answer = () => resolve({ result: {} })))

    await it.upstream.dispatch(toolCall('ask-in-vain'))
    answer()
    await it.upstream.dispatch(toolCall('count'))

    assert.equal(it.asked.length, 1)
    assert.doesNotMatch(it.stderr().join(), /reply/)
    assert.deepEqual(it.upstream.dropped, { request: 1, cancellation: 1 })
  })

  it('for roots is not put to a client that has none', async t => {
    const it = await bench(t, stdioSpec(['stdio'], { command: program('mcp-server-everything') }))
    it.reply = async () => ({ result: { roots: [] } })

    await it.upstream.dispatch(
      toolCall('trigger-long-running-operation', { duration: 1, steps: 1 }, undefined, {
        era: 'modern',
        version: '2026-07-28',
      }),
    )

    assert.deepEqual(it.asked, [])
    assert.equal(it.upstream.dropped?.ask, 1)
  })

  it('cannot be made under the name of another: what names nobody is dropped and counted', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))
    const other = toolCall('hold', {}, { progressToken: 'mine' })
    const held = it.upstream.dispatch(other)
    await until(() => it.stderr().includes('holds 1'), 'another call is open')

    assert.equal(textOf(await it.upstream.dispatch(toolCall('spoof'))), 'did my worst')

    const { progress = 0, response } = it.upstream.dropped ?? {}
    assert.equal(response, 2)
    assert.ok(progress >= 2)
    await it.upstream.dispatch(toolCall('release'))
    assert.equal(textOf(await held), 'released')
  })
})

describe('the stream of a session', () => {
  it('brings requests for the only open call of that session', async t => {
    const open: { heard: Heard; response: ServerResponse }[] = []
    const gets = new Map<string, ServerResponse>()
    const handle = legacy((heard, response) => {
      const { method, result } = heard.message
      if (method === 'tools/call') open.push({ heard, response: stream(response) })
      else response.writeHead(202).end()
      if (result === undefined) return
      const [one] = open
      one?.response.end(event({ id: one.heard.message.id ?? 0, result: said(JSON.stringify(result)) }))
    })
    const server = await peer(t, (heard, response) => {
      if (heard.verb === 'GET') gets.set(String(heard.headers['mcp-session-id']), stream(response))
      else handle(heard, response)
    })
    const it = await bench(t, httpSpec(server.url))
    it.reply = async () => ({ result: { roots: [] } })
    const call = toolCall('a', {}, undefined, FULL)

    const answer = it.upstream.dispatch(call)
    await until(() => open.length === 1 && gets.has('session-1'), 'the call is open')
    gets.get('session-1')?.write(event({ id: 'q', method: 'roots/list' }))

    assert.equal(textOf(await answer), '{"roots":[]}')
    assert.equal(it.asked[0]?.exchange, call.exchange)
  })

  it('of a call brings no progress of another call', async t => {
    const open: { heard: Heard; response: ServerResponse }[] = []
    const server = await peer(
      t,
      legacy((heard, response) => {
        if (heard.message.method !== 'tools/call') return void response.writeHead(202).end()
        open.push({ heard, response: stream(response) })
        if (open.length < 2) return
        const [one, two] = open
        const progressToken = one?.heard.message.id
        two?.response.write(event({ method: 'notifications/progress', params: { progressToken, progress: 1 } }))
        for (const { heard, response } of open) response.end(event({ id: heard.message.id ?? 0, result: said('ok') }))
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    const calls = ['one', 'two'].map(progressToken => toolCall('a', {}, { progressToken }))

    await Promise.all(calls.map(call => upstream.dispatch(call)))

    assert.deepEqual(
      calls.flatMap(({ emitted }) => emitted),
      [],
    )
    assert.deepEqual(upstream.dropped, { progress: 1 })
  })
})

describe('a visit to a URL', () => {
  it('is asked for by an error that passes as it is, and only its client hears of its end', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))
    const told: Record<string, Notification[]> = { ada: [], bob: [] }
    const visit = (name: string, tool: string): TestCall =>
      callOf('tools/call', { name: tool, arguments: { url: `https://${name}.test` } }, FULL, {}, {
        id: name,
        notify: notification => Boolean(told[name]?.push(notification)),
      } satisfies Partial<Session>)

    const [refusal] = [
      await it.upstream.dispatch(visit('ada', 'visit')),
      await it.upstream.dispatch(visit('bob', 'visit')),
    ]
    await it.upstream.dispatch(visit('bob', 'visited'))
    await it.upstream.dispatch(visit('bob', 'visited'))

    assert.equal('error' in refusal && refusal.error.code, -32042)
    assert.deepEqual(told, {
      ada: [],
      bob: [
        {
          method: 'notifications/elicitation/complete',
          params: { elicitationId: 'https://bob.test' },
        },
      ],
    })
    assert.deepEqual(it.upstream.dropped, { completion: 1 })
  })
})
