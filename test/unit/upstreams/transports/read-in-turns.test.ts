import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { loopTurns } from '../../../../src/transport/loop-turns.ts'
import { event, legacy, peer, said, stream } from '../../fixtures/http-peer.ts'
import { bench, httpSpec, sseSpec, toolCall, wsSpec } from '../../fixtures/upstream-bench.ts'
import { oldServer, wsServer } from './network-upstream.ts'
import { handTime } from '../../../fixtures/clocks.ts'
import { until } from '../../../fixtures/until.ts'

const FLOOD = 250
/** Works for each message: about one, as both take a millisecond, and hardly any of a stream that is read as it comes. */
const FAIR = 0.2
const FILL = 'x'.repeat(2000)
const METHOD = 'notifications/resources/updated'

/** Notes what a server floods us with, while a caller always has work that waits; each message and each work take a while. */
class Flooded {
  seen = 0
  /** Works of the caller that were done before the last message was read. */
  worked = 0
  /** The name of the caller; what a caller has used counts for a second, so that each test has one of its own. */
  readonly #caller: string
  readonly #pass: (ms: number) => void

  constructor(caller: string, pass: (ms: number) => void) {
    this.#caller = caller
    this.#pass = pass
  }

  readonly note = (): void => {
    if (this.seen === 0) {
      for (const caller of ['one', 'two']) loopTurns.mayRun(caller)
      this.#work()
    }
    this.#pass(1)
    this.seen++
  }

  #work(): void {
    const run = (): void => {
      if (this.seen === FLOOD) return
      this.#pass(1)
      this.worked++
      this.#work()
    }
    loopTurns.wait(this.#caller, { run })
  }
}

/** Connects to a server, and returns what makes that send so many messages at once. */
type Road = (t: TestContext, note: () => void) => Promise<() => void>

const ROADS: Readonly<Record<string, Road>> = {
  'a WebSocket': async (t, note) => {
    const server = await wsServer(t)
    const { upstream } = await bench(t, wsSpec(server.url), { notify: note })
    await upstream.start()
    return () => messages().forEach(message => server.sockets[0]?.send(message))
  },
  'an event stream of 2024': async (t, note) => {
    const server = await oldServer(t)
    const { upstream } = await bench(t, sseSpec(server.url), { notify: note })
    await upstream.start()
    return () => server.streams[0]?.write(events())
  },
  'the standing stream of a session': async (t, note) => {
    let standing: ServerResponse | undefined
    const handle = legacy(() => undefined)
    const server = await peer(t, (heard, response) => {
      if (heard.verb !== 'GET') return handle(heard, response)
      standing = stream(response)
      standing.flushHeaders()
    })
    const { upstream } = await bench(t, httpSpec(server.url), { notify: note })
    await upstream.start()
    await until(() => standing !== undefined, 'the stream is open')
    return () => standing?.write(events())
  },
  'a reply that undici reads': async (t, note) => {
    let answer: () => void = () => undefined
    const server = await peer(
      t,
      legacy((heard, response) => {
        answer = () => {
          stream(response).write(events())
          response.end(event({ id: heard.message.id, result: said('ok') }))
        }
      }),
    )
    // Whoever wants HTTP/2 is served by undici, though a server without TLS speaks HTTP/1.1.
    const { upstream } = await bench(t, httpSpec(server.url, { http2: true }), { notify: note })
    await upstream.start()
    upstream.dispatch(toolCall('x')).catch(() => undefined)
    await until(() => server.of('tools/call').length === 1, 'the call has arrived')
    return answer
  },
}

for (const [name, road] of Object.entries(ROADS))
  test(`what a server sends is read in turns with the work of callers, over ${name}`, async t => {
    const flooded = new Flooded(`beside ${name}`, handTime(t))
    const flood = await road(t, flooded.note)

    flood()
    await until(() => flooded.seen === FLOOD, 'all has arrived', 30_000)

    t.diagnostic(`${flooded.worked} works beside ${FLOOD} messages`)
    assert.ok(flooded.worked >= FLOOD * FAIR, `${flooded.worked} works beside ${FLOOD} messages`)
  })

function messages(): string[] {
  return Array.from({ length: FLOOD }, (_, n) =>
    JSON.stringify({ jsonrpc: '2.0', method: METHOD, params: { uri: `file:///${n}`, _meta: { FILL } } }),
  )
}

function events(): string {
  return messages()
    .map(message => `event: message\ndata: ${message}\n\n`)
    .join('')
}
