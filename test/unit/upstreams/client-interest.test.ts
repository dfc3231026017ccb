import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { Session } from '../../../src/api/index.ts'
import { event, legacy, peer, result, said, stream } from '../fixtures/http-peer.ts'
import {
  bench,
  callOf,
  httpSpec,
  script,
  stdioSpec,
  toolCall,
  type Bench,
  type TestCall,
} from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')
const CHANGES = { tools: { listChanged: true }, prompts: {}, resources: { listChanged: true } }

describe('the log level of a shared legacy server', { concurrency: 4 }, () => {
  it('is the most verbose that a session asks for, and sinks when that session ends', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))

    for (const [id, level] of [
      ['one', 'warning'],
      ['two', 'debug'],
      ['three', 'error'],
    ] as const)
      await it.upstream.dispatch(setLevel(id, level))
    it.upstream.onSessionEnd?.(sessionNamed('two'))
    it.upstream.onSessionEnd?.(sessionNamed('nobody'))

    await until(() => levels(it).length === 3, 'it sinks')
    assert.deepEqual(levels(it), ['warning', 'debug', 'warning'])
  })

  it('and its subscriptions are told to its successor', async t => {
    const it = await bench(t, stdioSpec([KEEPING]))
    for (const [method, params] of [
      ['logging/setLevel', { level: 'notice' }],
      ['resources/subscribe', { uri: 'a:1' }],
      ['resources/subscribe', { uri: 'a:2' }],
      ['resources/unsubscribe', { uri: 'a:1' }],
    ] as const)
      assert.ok('result' in (await it.upstream.dispatch(callOf(method, params))))
    // Output of a process on stderr may come after its answers.
    await until(() => told(it).length === 4, 'the first process has said what it was told')

    await assert.rejects(it.upstream.dispatch(toolCall('die')))

    await until(() => told(it).length === 6, 'the next process is told')
    assert.deepEqual(told(it).slice(4).sort(), ['logging/setLevel notice', 'resources/subscribe a:2'])
  })
})

describe('what may have changed while nobody could hear it', () => {
  for (const [name, eventId, expected] of [
    ['is taken for changed when a stream is open again', undefined, 2],
    ['is not, when the stream goes on where it ended', '7', 0],
  ] as const) {
    it(name, async t => {
      const gets: ServerResponse[] = []
      const handle = legacy((heard, response) => result(response, heard, said('ok')))
      const server = await peer(t, (heard, response) => {
        if (heard.verb === 'GET') gets.push(stream(response))
        else if (heard.message.method !== 'initialize') handle(heard, response)
        else
          result(response, heard, {
            protocolVersion: '2025-11-25',
            capabilities: CHANGES,
            serverInfo: { name: 'old', version: '1' },
          })
      })
      const { upstream, notified } = await bench(t, httpSpec(server.url))
      await upstream.start()
      await until(() => gets.length === 1, 'it is open')
      gets[0]?.write(event({ method: 'notifications/other' }, eventId))
      await until(() => notified.length === 1, 'it works')

      gets[0]?.end()
      await until(() => gets.length === 2, 'it is open again')
      gets[1]?.write(event({ method: 'notifications/other' }))
      await until(() => notified.filter(one => one.method === 'notifications/other').length === 2, 'it works')

      const changes = notified.map(one => one.method).filter(method => method.endsWith('/list_changed'))
      assert.equal(changes.length, expected)
      if (expected > 0)
        assert.deepEqual(changes, ['notifications/tools/list_changed', 'notifications/resources/list_changed'])
    })
  }
})

function setLevel(id: string, level: string): TestCall {
  return callOf('logging/setLevel', { level }, {}, {}, { id })
}

function sessionNamed(id: string): Session {
  return callOf('ping', undefined, {}, {}, { id }).exchange.session
}

/** All that the server was told, in order. */
function told(it: Bench): string[] {
  return it.stderr().filter(line => line.includes('/'))
}

function levels(it: Bench): string[] {
  return told(it).flatMap(line => /^logging\/setLevel (.*)/.exec(line)?.[1] ?? [])
}
