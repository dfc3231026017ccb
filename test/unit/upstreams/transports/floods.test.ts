import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { until } from '../../../fixtures/until.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'
import { event, legacy, peer, said, stream } from '../../fixtures/http-peer.ts'
import {
  type Bench,
  bench,
  httpSpec,
  type LogLine,
  script,
  sseSpec,
  stdioSpec,
  textOf,
  toolCall,
  wsSpec,
} from '../../fixtures/upstream-bench.ts'
import { answerTo, oldServer, type Said, wsServer } from './network-upstream.ts'

const KIB = 1024
const MESSAGE = 4 * KIB
/** 4 MiB of messages, and some. */
const MANY = 4000
const FILL = 'x'.repeat(MESSAGE - 128)

/** A server that says so many times, in 4 KiB, how far its call is, before it answers with "done". */
type Road = (t: TestContext, count: number, clock: HandClock) => Promise<Bench>

const ROADS: Readonly<Record<string, Road>> = {
  'a pipe': async (t, count, clock) => {
    const args = [script('progress-server.mjs'), String(count), 'legacy', String(MESSAGE)]
    return bench(t, stdioSpec(args, { era: 'legacy' }), { clock })
  },
  'a WebSocket': async (t, count, clock) => {
    const server = await wsServer(t, heard => {
      if (heard.method !== 'tools/call') return answerTo(heard)
      for (const one of progress(heard, count)) server.sockets[0]?.send(JSON.stringify(one))
      return JSON.stringify(done(heard))
    })
    return bench(t, wsSpec(server.url), { clock })
  },
  'an event stream of 2024': async (t, count, clock) => {
    const server = await oldServer(t, {
      answer: heard => {
        if (heard.method !== 'tools/call') return answerTo(heard)
        for (const one of progress(heard, count)) server.streams[0]?.write(event(one))
        return JSON.stringify(done(heard))
      },
    })
    return bench(t, sseSpec(server.url), { clock })
  },
  'a reply': (t, count, clock) => replying(t, count, clock),
  'a reply that undici reads': (t, count, clock) => replying(t, count, clock, { http2: true }),
}

for (const [name, road] of Object.entries(ROADS)) {
  test(`a server that sends tens of megabytes of progress that nobody gets waits with it, over ${name}; its answer and the newest arrive`, async t => {
    const clock = new HandClock()
    const { upstream, logs } = await started(road, t, MANY, clock)
    const call = toolCall('flood', {}, { progressToken: 'mine' })
    let isAnswered = false
    const answer = upstream.dispatch(call).finally(() => (isAnswered = true))

    await until(() => slowed(logs).length > 0, 'it is read more slowly', 30_000)
    const read = await standingStill(() => upstream.dropped?.excess_progress ?? 0)

    assert.equal(isAnswered, false)
    assertAbout4MiB(read)
    assert.deepEqual(
      slowed(logs).map(({ level }) => level),
      ['warn'],
    )
    assert.match(String(slowed(logs)[0]?.fields.why), /nobody is given/)

    await until(() => {
      clock.pass(20)
      return isAnswered
    }, 'it is answered')
    assert.equal(textOf(await answer), 'done')
    assert.equal(call.emitted.at(-1)?.params?.progress, MANY)
    assert.equal(call.emitted.length + (upstream.dropped?.excess_progress ?? 0), MANY)
  })

  test(`a few megabytes of progress at once wait for nothing, over ${name}`, async t => {
    const { upstream } = await started(road, t, 900, new HandClock())
    const call = toolCall('flood', {}, { progressToken: 'mine' })

    assert.equal(textOf(await upstream.dispatch(call)), 'done')
    assert.equal(call.emitted.at(-1)?.params?.progress, 900)
  })
}

test('a server that sends as much on the standing stream of a session waits with the rest of that', async t => {
  const clock = new HandClock()
  let standing: ServerResponse | undefined
  const handle = legacy(({ message }) => {
    for (const one of progress(message, MANY)) standing?.write(event(one))
  })
  const server = await peer(t, (heard, response) => {
    if (heard.verb !== 'GET') return handle(heard, response)
    standing = stream(response)
    standing.flushHeaders()
  })
  const { upstream, logs } = await bench(t, httpSpec(server.url), { clock })
  await upstream.start()
  await until(() => standing !== undefined, 'the stream is open')
  const call = toolCall('flood', {}, { progressToken: 'mine' })
  upstream.dispatch(call).catch(() => undefined)
  const seen = (): number => call.emitted.length + (upstream.dropped?.excess_progress ?? 0)

  await until(() => slowed(logs).length > 0, 'it is read more slowly', 30_000)
  assertAbout4MiB(await standingStill(seen))

  assert.equal(slowed(logs).length, 1)
  await until(() => {
    clock.pass(20)
    return seen() >= MANY - 1
  }, 'all of it has been read')
})

function slowed(logs: readonly LogLine[]): readonly LogLine[] {
  return logs.filter(({ message }) => message === 'a server is read more slowly')
}

function assertAbout4MiB(messages: number): void {
  const mib = (messages * MESSAGE) / KIB / KIB
  assert.ok(mib > 3.5 && mib < 4.5, `${mib} MiB were read`)
}

async function started(road: Road, t: TestContext, count: number, clock: HandClock): Promise<Bench> {
  const made = await road(t, count, clock)
  await made.upstream.start()
  return made
}

async function replying(
  t: TestContext,
  count: number,
  clock: HandClock,
  options: Parameters<typeof httpSpec>[1] = {},
): Promise<Bench> {
  const server = await peer(
    t,
    legacy(({ message }, response) => {
      stream(response)
      for (const one of progress(message, count)) response.write(event(one))
      response.end(event(done(message)))
    }),
  )
  return bench(t, httpSpec(server.url, options), { clock })
}

function* progress({ params }: Pick<Said, 'params'>, count: number): Generator<Record<string, unknown>> {
  const { progressToken } = params?._meta as { progressToken: string }
  for (let n = 1; n <= count; n++)
    yield {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: n, message: FILL },
    }
}

function done({ id }: Pick<Said, 'id'>): Record<string, unknown> {
  return { jsonrpc: '2.0', id, result: said('done') }
}

/** A figure that was the same for half a second. */
async function standingStill(figure: () => number): Promise<number> {
  let [last, since] = [figure(), performance.now()]
  while (performance.now() - since < 500) {
    await passed(20)
    if (figure() !== last) [last, since] = [figure(), performance.now()]
  }
  return last
}
