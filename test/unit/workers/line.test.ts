import assert from 'node:assert/strict'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { test, type TestContext } from 'node:test'
import {
  gatewayError,
  Payload,
  type Answer,
  type Ask,
  type JsonObject,
  type Notification,
} from '../../../src/plugin.ts'
import { Frames, KIND } from '../../../src/workers/ipc/frame-codec.ts'
import { Line, type LineHost, type Maker } from '../../../src/workers/ipc/rpc.ts'
import { conversationOf, placeOfConversation, placeOfWork } from '../../../src/protocol/placed-ids.ts'
import { Seal } from '../../../src/core/seal.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const NOTHING: LineHost = {
  serve: () => Promise.reject(new Error('nothing is served')),
  note: () => undefined,
  closed: () => undefined,
}

/** Two ends of a line, the second of which serves like this. */
async function pair(t: TestContext, serve: LineHost['serve']): Promise<{ line: Line; cut: () => void }> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const taken = new Promise<Socket>(resolve => server.once('connection', resolve))
  const line = new Line(connect((server.address() as AddressInfo).port, '127.0.0.1'), NOTHING)
  const end = new Line(await taken, { ...NOTHING, serve })
  cleanup(t, () => {
    line.close()
    end.close()
    server.close()
  })
  return { line, cut: () => end.close() }
}

function maker(more: Partial<Maker> = {}): Maker {
  return { emit: () => undefined, onCancel: () => () => undefined, ...more }
}

test('messages arrive whole and in order, however the stream cuts them', async () => {
  const [one, other] = duplexPair()
  const heard: string[] = []
  const all = new Promise<void>(resolve => {
    const frames = new Frames(other, (kind, number, body) => {
      heard.push(`${kind} ${number} ${body.length}`)
      if (heard.length === 4) resolve()
    })
    void frames
  })
  const bytes: Buffer[] = []
  const [into, outOf] = duplexPair()
  outOf.on('data', (chunk: Buffer) => bytes.push(chunk))
  const frames = new Frames(into, () => undefined)
  frames.send(KIND.note, 0, 'é')
  frames.send(KIND.answer, 7, Buffer.alloc(2), Buffer.alloc(100_000))
  frames.send(KIND.emit, 4_294_967_295, '')
  frames.send(KIND.note, 1, 'x'.repeat(20_000))
  await new Promise(resolve => setImmediate(resolve))
  await new Promise(resolve => setImmediate(resolve))
  const whole = Buffer.concat(bytes)

  for (let at = 0; at < whole.length; at += 1009) one.write(whole.subarray(at, at + 1009))
  await all

  assert.deepEqual(heard, ['9 0 2', '3 7 100002', '5 4294967295 0', '9 1 20000'])
})

test('an answer keeps its sort, its era and its bytes; an error its HTTP side', async t => {
  const answers: Answer[] = [
    { result: Payload.raw(Buffer.from('{"a": 1 }'), 'legacy') },
    { input: Payload.of({ resultType: 'input_required' }, 'modern') },
    { task: Payload.of({ taskId: 't' }) },
    { error: { code: -32603, message: 'no' }, http: { status: 429, headers: { 'retry-after': '1' } } },
    { error: { code: 1, message: 'no', data: [1] } },
  ]
  const { line } = await pair(t, ({ n }) => Promise.resolve(answers[Number(n)] as Answer))

  const got = await Promise.all(answers.map((_, n) => line.request({ n }, maker())))

  const plain = (answer: Answer): unknown =>
    Object.entries(answer).map(([key, value]) =>
      value instanceof Payload ? [key, value.era, value.bytes().toString()] : [key, value as unknown],
    )
  assert.deepEqual(got.map(plain), answers.map(plain))
})

test('what is told, asked, taken back and cancelled on the way crosses too', async t => {
  const told: Notification[] = []
  const asked: string[] = []
  let cancel = (): void => undefined
  const { line } = await pair(t, async (_request, served) => {
    served.emit({ method: 'notifications/progress', params: { progress: 1 } })
    const reply = await served.ask({ method: 'roots/list', params: undefined })
    const ended = new Promise<string>(resolve => served.onCancel(resolve))
    let takeBack = (_why: string): void => undefined
    const second: Ask = { method: 'x', params: {}, onTakeBack: listener => (takeBack = listener) }
    void served.ask(second)
    takeBack('no more')
    return { result: Payload.of({ reply, cancelled: await ended }) }
  })

  const answer = await line.request(
    {},
    {
      emit: notification => told.push(notification),
      ask: ask => {
        asked.push(ask.method)
        if (ask.method === 'roots/list') return Promise.resolve({ result: { roots: [] } })
        return new Promise(resolve =>
          ask.onTakeBack?.(why => {
            asked.push(why)
            resolve({ error: { code: 1, message: why } })
            cancel()
          }),
        )
      },
      onCancel: listener => {
        cancel = () => listener('enough')
        return () => undefined
      },
    },
  )

  assert.deepEqual('result' in answer && answer.result.value(), {
    reply: { result: { roots: [] } },
    cancelled: 'enough',
  })
  assert.deepEqual(told, [{ method: 'notifications/progress', params: { progress: 1 } }])
  assert.deepEqual(asked, ['roots/list', 'x', 'no more'])
})

test('an error of ours is the same error there; any other says nothing of itself to a client', async t => {
  const { line } = await pair(t, ({ ours }) =>
    Promise.reject(
      ours === true
        ? gatewayError('GW_UPSTREAM_DOWN', { upstream: 'a', why: 'b', cause: new Error('c') })
        : new Error('secret'),
    ),
  )

  await assert.rejects(line.request({ ours: true }, maker()), {
    code: 'GW_UPSTREAM_DOWN',
    message: /"?a"?.*b/,
  })
  await assert.rejects(line.request({}, maker()), { code: 'GW_INTERNAL', message: 'internal error' })
})

test('when one end dies, requests of the other fail and those it served are given up', async t => {
  const reasons: string[] = []
  let begin = (): void => undefined
  const begun = new Promise<void>(resolve => (begin = resolve))
  const { line, cut } = await pair(t, (_request, served) => {
    begin()
    served.onCancel(reason => reasons.push(reason))
    return new Promise(() => undefined)
  })
  const request = line.request({}, maker())
  await begun

  cut()

  await assert.rejects(request, { code: 'GW_INTERNAL' })
  await assert.rejects(line.request({}, maker()), { code: 'GW_INTERNAL' })
  assert.equal(reasons.length, 1)
})

function sealOf(key: Buffer, place: string): Seal {
  const seal = new Seal()
  seal.shareWith({ keys: [key], place })
  return seal
}

test('what one worker has sealed the others open; what only one holds says whose it is, and cannot be said to be another’s', () => {
  const key = Buffer.alloc(32, 7)
  const [one, two] = ['r0000000000000001', 'r0000000000000002']
  const [first, second] = [sealOf(key, one), sealOf(key, two)]

  const cursor = first.close({ offset: 1 }, 'bound')
  const parked = first.close({ parked: { id: 'x', round: 1 } }, 'bound')
  const hosted = second.close({ place: { at: 'gateway', original: 'x' }, until: 1 }, 'bound')

  assert.deepEqual(second.open(cursor, 'bound'), { offset: 1 })
  assert.deepEqual(second.open(parked, 'bound'), { parked: { id: 'x', round: 1 } })
  assert.equal(second.open(parked, 'another'), undefined)
  assert.equal(second.open(parked.replace(`${one}.`, `${two}.`), 'bound'), undefined)
  assert.equal(sealOf(Buffer.alloc(32, 8), one).open(cursor, 'bound'), undefined)
  assert.doesNotMatch(cursor, /^r0/)
  const work = (params: JsonObject): string | undefined => placeOfWork(params)
  assert.deepEqual(
    [
      work({ requestState: parked }),
      work({ taskId: hosted }),
      work({ requestState: cursor }),
      work({ notifications: { taskIds: [parked, hosted, hosted, 4] } }),
      work({ requestState: 7 }),
      work({}),
    ],
    [one, two, undefined, two, undefined, undefined],
  )
  assert.deepEqual(
    [
      placeOfConversation(conversationOf(`${one}_abc`, '/mcp')),
      placeOfConversation(conversationOf('abc', `/messages?sessionId=${two}_x`)),
      placeOfConversation(conversationOf(undefined, `/messages?sessionId=${two}_x`)),
      placeOfConversation(conversationOf('r00000000000000012_x', '/')),
      placeOfConversation('w1_x'),
    ],
    [one, undefined, two, undefined, undefined],
  )
})
