import assert from 'node:assert/strict'
import { once } from 'node:events'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, type Socket } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import type { Credentials, HttpReply, HttpRequest, Principal } from '../../../src/api/index.ts'
import { ANONYMOUS } from '../../../src/plugin.ts'
import { defaultAnswer, type FakeGate, type Seen } from './http/fake-gate.ts'
import { JSON_HEADERS, modern } from './http/client.ts'
import { openOldStream, serveAll, talk } from './http/network.ts'
import { modern as modernMessage, pipe, type Sent } from './stdio/client.ts'
import { loopTurns } from '../../../src/transport/loop-turns.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { handTime } from '../../fixtures/clocks.ts'
import { until } from '../../fixtures/until.ts'

// The clock's timers keep no process alive, and on pipes nothing else does.
const alive = setInterval(() => undefined, 1000)
after(() => clearInterval(alive))

const FLOOD = 150
/** Requests by which a caller is known to be there. */
const PRIMER = 20

/** Connections of a caller that sends as fast as it can, and those that are made meanwhile. */
const [BUSY, NEWCOMERS] = [40, 20]

const BODY = 3 * 1024 * 1024
/** Bytes of one read from a socket; a stream that pauses is filled once more. */
const READ = 64 * 1024

/** Sends so many requests at once. */
type SendMany = (count: number) => void

/** Two callers of one gateway, of whose requests it notes the order; each of them takes it a millisecond. */
class Callers {
  readonly seen: string[] = []
  onFirst: () => void = () => undefined
  readonly pass: (ms: number) => void

  constructor(t: TestContext) {
    this.pass = handTime(t)
  }

  note(who: string): void {
    this.seen.push(who)
    this.pass(1)
    if (this.seen.length === 1) this.onFirst()
  }

  answersFrom(gate: FakeGate, who: (seen: Seen) => string): void {
    gate.answering = seen => {
      if (seen.inbound.method !== 'initialize') this.note(who(seen))
      return defaultAnswer(seen)
    }
  }
}

function named(subject: string): Principal {
  return { ...ANONYMOUS, issuer: 'test', subject }
}

async function served(
  t: TestContext,
  callers: Callers,
  onLook: (who: string) => void = () => undefined,
): Promise<(path: string) => URL> {
  const { gate, at } = await serveAll(t, { limits: { connections: 999, sessions: 999 } })
  const serve = async (request: HttpRequest): Promise<HttpReply> => {
    await request.body()
    callers.note(request.caller.subject)
    return { status: 200, body: '{}' }
  }
  const authenticate = ({ header }: Credentials): Principal => {
    const who = header('authorization')[0] ?? ''
    onLook(who)
    return named(who)
  }
  Object.assign(gate, { authenticate, serve })
  callers.answersFrom(gate, ({ session }) => session.principal.subject)
  return at
}

function text(path: string, who: string, { headers, body }: ReturnType<typeof modern>): string {
  const all = { host: '127.0.0.1', authorization: who, ...headers, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Sends requests one behind the other on one connection. */
async function posting(t: TestContext, url: URL, made: (n: number) => string): Promise<SendMany> {
  const socket = connect(Number(url.port), url.hostname)
  cleanup(t, () => socket.destroy())
  socket.on('error', () => undefined).resume()
  await once(socket, 'connect')
  let last = 0
  return count => void socket.write(Array.from({ length: count }, () => made(++last)).join(''))
}

type Road = (t: TestContext, callers: Callers) => Promise<(who: string) => Promise<SendMany>>

const overHttp =
  (path: string): Road =>
  async (t, callers) => {
    const at = await served(t, callers)
    return who => posting(t, at(path), n => text(path, who, modern('tools/list', {}, n)))
  }

const ROADS: Readonly<Record<string, Road>> = {
  HTTP: overHttp('/mcp'),
  'the path of a plugin, such as REST': overHttp('/api/tools'),
  'posts to an event stream': async (t, callers) => {
    const at = await served(t, callers)
    return async who => {
      const stream = await openOldStream(at('/sse'), { authorization: who })
      cleanup(t, () => stream.close())
      return posting(t, at('/sse'), id => {
        const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' })
        return text(stream.endpoint, who, { headers: JSON_HEADERS, body })
      })
    }
  },
  'a WebSocket': async (t, callers) => {
    const at = await served(t, callers)
    return async who => {
      const client = await talk(at('/ws'), { headers: { authorization: who } })
      let last = 0
      return count => {
        for (let n = 0; n < count; n++) client.send(modernMessage('tools/list', ++last))
      }
    }
  },
  'a pipe': async (_t, callers) => {
    await Promise.resolve()
    return async who => {
      const client = await pipe()
      callers.answersFrom(client.gate, () => who)
      let last = 0
      const messages = (count: number): Sent[] =>
        Array.from({ length: count }, () => modernMessage('tools/list', ++last))
      // What is written here is read at once; from another process it would come with the next turn of the loop.
      return count => void setImmediate(() => client.send(...messages(count)))
    }
  },
}

for (const [name, road] of Object.entries(ROADS))
  test(`a caller that asks once is not behind the flood of another over ${name}`, async t => {
    const callers = new Callers(t)
    const opened = await road(t, callers)
    const [modest, greedy] = [await opened('modest'), await opened('greedy')]
    for (const send of [modest, greedy]) send(PRIMER)
    await until(() => callers.seen.length === 2 * PRIMER, 'both are known')
    callers.seen.length = 0
    callers.onFirst = () => modest(1)

    greedy(FLOOD)
    await until(() => callers.seen.length === FLOOD + 1, 'all are answered')

    const before = callers.seen.indexOf('modest')
    t.diagnostic(`it came behind ${before} of ${FLOOD}`)
    assert.ok(before < FLOOD / 3, `it came behind ${before} of ${FLOOD}`)
  })

for (const [name, isShared] of [
  ['comes over a connection of its own', false],
  ['comes over one of those, as behind a proxy', true],
] as const)
  test(`of requests that one caller sends at once over many connections, most are not looked at before that of another, which ${name}`, async t => {
    const callers = new Callers(t)
    const lookedAt: string[] = []
    const at = await served(t, callers, who => lookedAt.push(who))
    let last = isShared ? 'greedy' : 'modest'
    const opened = (who: () => string): Promise<SendMany> =>
      posting(t, at('/mcp'), n => text('/mcp', who(), modern('tools/list', {}, n)))
    const modest = await opened(() => last)
    const greedy = await Promise.all(Array.from({ length: FLOOD }, () => opened(() => 'greedy')))
    for (const send of [modest, ...greedy]) send(1)
    await until(() => callers.seen.length === FLOOD + 1, 'all connections are known')
    callers.seen.length = lookedAt.length = 0
    callers.onFirst = () => {
      last = 'modest'
      modest(1)
    }

    for (const send of greedy) send(1)
    await until(() => callers.seen.length === FLOOD + 1, 'all are answered')

    const before = [lookedAt, callers.seen].map(order => order.indexOf('modest'))
    t.diagnostic(`${before.join(' and ')} of ${FLOOD} were looked at and handled before`)
    for (const count of before) assert.ok(count < FLOOD / 3, `${count} of ${FLOOD} came first`)
  })

test('of connections that come at once, each is taken before another alone has sent much on its own', async t => {
  const callers = new Callers(t)
  const at = await served(t, callers)
  const open = (): Promise<SendMany> =>
    posting(t, at('/mcp'), n => text('/mcp', 'greedy', modern('tools/list', {}, n)))
  const greedy = await Promise.all(Array.from({ length: BUSY }, open))
  callers.pass(1000)
  const taken: number[] = []
  const note = (): void => void taken.push(callers.seen.length)
  subscribe('net.server.socket', note)
  cleanup(t, () => unsubscribe('net.server.socket', note))

  for (const send of greedy) send(FLOOD)
  await Promise.all(Array.from({ length: NEWCOMERS }, open))
  await until(() => taken.length === NEWCOMERS, 'all connections are taken')

  const most = Math.max(...taken.slice(2).map((count, n) => count - (taken[n + 1] ?? 0)))
  t.diagnostic(`at most ${most} messages were handled between two connections`)
  assert.ok(most < BUSY / 4, `${most} messages between two connections`)
})

for (const [name, more, status] of [
  ['that is answered', {}, 200],
  ['that is refused', { 'content-type': 'text/plain' }, 415],
] as const)
  test(`of a large body ${name} a little is read in each turn, where callers share the loop`, async t => {
    const at = await served(t, new Callers(t))
    const sockets: Socket[] = []
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket)
    subscribe('http.server.request.start', note)
    cleanup(t, () => unsubscribe('http.server.request.start', note))
    for (const who of ['one', 'two']) loopTurns.mayRun(who)
    const { headers, body } = modern('tools/list', {}, 1)
    const reply = fetch(at('/mcp'), {
      method: 'POST',
      headers: { ...headers, authorization: 'greedy', ...more },
      body: body.padEnd(BODY),
    })
    await until(() => sockets.length > 0, 'the request begins')

    let [most, before] = [0, sockets[0]?.bytesRead ?? 0]
    while ((sockets[0]?.bytesRead ?? 0) < BODY) {
      await new Promise(setImmediate)
      const read = sockets[0]?.bytesRead ?? 0
      for (const who of ['one', 'two']) loopTurns.mayRun(who)
      most = Math.max(most, read - before)
      before = read
    }

    assert.equal((await reply).status, status)
    assert.ok(most <= 2 * READ, `${most} bytes in one turn`)
  })

test('a pipe is not read further while its messages wait for their turn, and its end comes behind them', async t => {
  const callers = new Callers(t)
  const [greedy, modest] = [await pipe(), await pipe()]
  cleanup(t, () => modest.listener.stop(0))
  callers.answersFrom(greedy.gate, () => 'greedy')
  callers.answersFrom(modest.gate, () => 'modest')
  for (const [at, client] of [modest, greedy].entries())
    client.send(...Array.from({ length: PRIMER }, (_, n) => modernMessage('tools/list', at * PRIMER + n)))
  await until(() => callers.seen.length === 2 * PRIMER, 'both are known')
  callers.seen.length = 0
  let wasPaused = false
  callers.onFirst = () => {
    modest.send(modernMessage('tools/list', 'last'))
    setImmediate(() => (wasPaused = greedy.input.isPaused()))
  }

  greedy.send(...Array.from({ length: FLOOD }, (_, n) => modernMessage('tools/list', PRIMER * 2 + n)))
  greedy.input.end()
  await until(() => callers.seen.length === FLOOD + 1, 'all are answered')

  assert.equal(wasPaused, true)
})
