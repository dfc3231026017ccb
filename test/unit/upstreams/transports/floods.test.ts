import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { HandClock } from '../../fixtures/hand-clock.ts'
import { event, legacy, peer, said, stream } from '../../fixtures/http-peer.ts'
import {
  type Bench,
  bench,
  httpSpec,
  script,
  sseSpec,
  stdioSpec,
  textOf,
  toolCall,
  wsSpec,
} from '../../fixtures/upstream-bench.ts'
import { answerTo, oldServer, type Said, wsServer } from './network-upstream.ts'

const MESSAGE = 4 * 1024
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

for (const [name, road] of Object.entries(ROADS))
  test(`of tens of megabytes of progress over ${name} the newest arrives, and then the answer`, async t => {
    const { upstream } = await started(road, t, MANY, new HandClock())
    const call = toolCall('flood', {}, { progressToken: 'mine' })

    assert.equal(textOf(await upstream.dispatch(call)), 'done')
    assert.equal(call.emitted.at(-1)?.params?.progress, MANY)
    assert.equal(call.emitted.length + (upstream.dropped?.excess_progress ?? 0), MANY)
  })

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
