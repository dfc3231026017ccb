import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import type { Notification, Session } from '../../../src/api/index.ts'
import { event, legacy, peer, result, said, stream, type Heard, type Peer } from '../fixtures/http-peer.ts'
import { bench, callOf, httpSpec, type TestCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const CAPABILITIES = { tools: {}, resources: { subscribe: true } }
const ASKABLE = { capabilities: { sampling: {} } }

describe('a resource of a legacy server on HTTP', { concurrency: 4 }, () => {
  it('is watched in the session where the calls of its watcher go', async t => {
    const { server } = await watched(t)
    const { upstream } = await bench(t, httpSpec(server.url, { isolation: 'session' }))

    for (const id of ['one', 'two']) {
      await upstream.dispatch(subscribe(id))
      await upstream.dispatch(tool(id))
    }

    const sessions = server.of('tools/call').map(sessionOf)
    assert.equal(new Set(sessions).size, 2)
    assert.deepEqual(server.of('resources/subscribe').map(sessionOf), sessions)
  })

  it('is watched once for all who share a session', async t => {
    const { server } = await watched(t)
    const { upstream } = await bench(t, httpSpec(server.url))

    for (const id of ['one', 'two']) await upstream.dispatch(subscribe(id))
    await upstream.dispatch(unsubscribe('one'))
    assert.equal(server.of('resources/unsubscribe').length, 0)
    await upstream.dispatch(unsubscribe('two'))

    assert.equal(server.of('resources/subscribe').length, 1)
    assert.equal(server.of('resources/unsubscribe').length, 1)
  })

  it('changes for nobody but those who watch in the session that says so', async t => {
    const { server, streams } = await watched(t)
    const meant: ((session: Session) => boolean)[] = []
    const { upstream } = await bench(t, httpSpec(server.url, { isolation: 'session' }), {
      notify: (_notification: Notification, isMeant?: (session: Session) => boolean) => {
        if (isMeant !== undefined) meant.push(isMeant)
      },
    })
    await upstream.dispatch(subscribe('one'))
    await upstream.dispatch(subscribe('two'))
    const [one] = server.of('resources/subscribe').map(sessionOf)

    await until(() => streams.has(String(one)), 'it listens')
    streams.get(String(one))?.write(event({ method: 'notifications/resources/updated', params: { uri: 'a:b' } }))

    await until(() => meant.length === 1, 'it is told')
    assert.deepEqual(
      ['one', 'two', 'three'].map(id => meant[0]?.(subscribe(id).exchange.session)),
      [true, false, false],
    )
  })

  it('is watched where calls go after the session was forgotten, and no more once its watcher has gone', async t => {
    const { server, sessions } = await watched(t)
    const { upstream } = await bench(t, httpSpec(server.url, { isolation: 'session' }))
    await upstream.dispatch(subscribe('one'))
    const [first] = server.of('resources/subscribe').map(sessionOf)
    sessions.delete(String(first))

    await upstream.dispatch(tool('one'))

    const again = (): unknown => server.of('resources/subscribe').map(sessionOf).at(-1)
    await until(() => again() === server.of('tools/call').map(sessionOf).at(-1), 'it is watched there')
    assert.notEqual(again(), first)
    const before = server.of('resources/subscribe').length
    upstream.onSessionEnd?.(subscribe('one').exchange.session)
    await until(
      () => server.heard.some(heard => heard.verb === 'DELETE' && sessionOf(heard) === again()),
      'its session is over',
    )
    assert.equal(server.of('resources/subscribe').length, before)
  })
})

async function watched(
  t: TestContext,
): Promise<{ server: Peer; sessions: Set<string>; streams: Map<string, ServerResponse> }> {
  const sessions = new Set<string>()
  const streams = new Map<string, ServerResponse>()
  const handle = legacy((heard, response) => result(response, heard, said('ok')), sessions, CAPABILITIES)
  const server = await peer(t, (heard, response) => {
    if (heard.verb === 'GET') streams.set(String(sessionOf(heard)), stream(response))
    else handle(heard, response)
  })
  return { server, sessions, streams }
}

function sessionOf({ headers }: Heard): unknown {
  return headers['mcp-session-id']
}

function tool(id: string): TestCall {
  return callOf('tools/call', { name: 'a' }, ASKABLE, {}, { id })
}

function subscribe(id: string): TestCall {
  return callOf('resources/subscribe', { uri: 'a:b' }, ASKABLE, {}, { id })
}

function unsubscribe(id: string): TestCall {
  return callOf('resources/unsubscribe', { uri: 'a:b' }, ASKABLE, {}, { id })
}
