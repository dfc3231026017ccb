import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { Upstream } from '../../../../src/api/index.ts'
import { replyRoom } from '../../../../src/transport/reply-room.ts'
import { event, type Heard, legacy, peer, said, stream } from '../../fixtures/http-peer.ts'
import { bench, httpSpec, type TestCall, textOf, toolCall, until } from '../../fixtures/upstream-bench.ts'

const MIB = 1024 * 1024
const CALLS = 40
const TEXT = 'x'.repeat(2 * MIB)

/** A large reply that has begun, and is not finished until it is told so. */
type Finish = () => void
type Kind = (response: ServerResponse, message: Heard['message']) => Finish

const begun = (response: ServerResponse, text: string): Finish => {
  response.write(text.slice(0, MIB))
  return () => response.end(text.slice(MIB))
}

function answerTo({ id }: Heard['message']): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: said(TEXT) })
}

const KINDS: Readonly<Record<string, Kind>> = {
  'of a known length': (response, message) => {
    const text = answerTo(message)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
    return begun(response, text)
  },
  'of unknown length': (response, message) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    return begun(response, answerTo(message))
  },
  'as events': (response, { id }) => begun(stream(response), event({ id, result: said(TEXT) })),
}

interface Flood {
  readonly upstream: Upstream
  readonly calls: readonly TestCall[]
  readonly answers: readonly Promise<string>[]
  readonly finish: readonly Finish[]
}

/** Calls at once whose replies have all begun, so that there is no room for all of them. */
async function flooded(t: TestContext, kind: Kind, http2 = false): Promise<Flood> {
  const finish: Finish[] = []
  const server = await peer(
    t,
    legacy((heard, response) => void finish.push(kind(response, heard.message))),
  )
  const { upstream } = await bench(t, httpSpec(server.url, { http2 }))
  await upstream.start()
  const calls = Array.from({ length: CALLS }, () => toolCall('large'))
  const answers = calls.map(async call => textOf(await upstream.dispatch(call)))
  await until(() => finish.length === CALLS && replyRoom.waiting > 0, 'replies wait for room', 30_000)
  return { upstream, calls, answers, finish }
}

for (const [name, kind] of Object.entries(KINDS))
  test(`large replies ${name} wait for room, and all of them arrive`, async t => {
    const { answers, finish } = await flooded(t, kind)
    let most = 0
    const look = setInterval(() => (most = Math.max(most, replyRoom.bytes)), 1)
    for (const one of finish) one()

    const texts = await Promise.all(answers)
    clearInterval(look)

    assert.ok(texts.every(text => text === TEXT))
    assert.ok(most <= 36 * MIB, `${most} bytes at once`)
    assert.deepEqual([replyRoom.bytes, replyRoom.waiting], [0, 0])
  })

test('large replies that undici reads wait for room, and all of them arrive', async t => {
  const { answers, finish } = await flooded(t, KINDS['of a known length'] as Kind, true)
  for (const one of finish) one()

  assert.ok((await Promise.all(answers)).every(text => text === TEXT))
  assert.deepEqual([replyRoom.bytes, replyRoom.waiting], [0, 0])
})

test('replies that nobody waits for any more give their room back', async t => {
  const { answers, calls, finish } = await flooded(t, KINDS['of a known length'] as Kind)
  const settled = Promise.allSettled(answers)
  for (const call of calls.slice(1)) call.cancel('enough')
  for (const one of finish) one()

  assert.equal(await answers[0], TEXT)
  await settled
  assert.deepEqual([replyRoom.bytes, replyRoom.waiting], [0, 0])
})

test('replies whose server is stopped give their room back', async t => {
  const { answers, upstream } = await flooded(t, KINDS['of unknown length'] as Kind)
  const settled = Promise.allSettled(answers)

  await upstream.stop()

  assert.ok((await settled).every(({ status }) => status === 'rejected'))
  assert.deepEqual([replyRoom.bytes, replyRoom.waiting], [0, 0])
})
