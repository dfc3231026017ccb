import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ConnectionTaker, MovePermit, Moves } from '../../../../../src/plugin.ts'
import { IdleConnections } from '../../../../../src/listeners/http/beside/idle-connections.ts'
import { TestClock } from '../../../../../src/testing/index.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

/** One of two servers that accept for the same clients. */
interface End {
  readonly name: string
  readonly server: Server
  readonly idle: IdleConnections
  readonly state: { isStopping: boolean; isDraining: boolean; maxConnections: number }
  /** Responses that wait for the test, where it asked for that. */
  readonly held: ServerResponse[]
  /** Connections that it gave away and took, as it told. */
  readonly counted: { readonly given: number; readonly taken: number }
}

interface Both {
  readonly clock: TestClock
  readonly a: End
  readonly b: End
  /** Moves that were made. */
  readonly moved: number[]
}

/**
 * Two servers, where `/a` belongs to the first and `/b` to the second. Each answers with its own name; what belongs to the other is
 * taken to be handed on.
 */
async function both(t: TestContext, timing: ServerOptions = {}): Promise<Both> {
  const clock = new TestClock()
  const takers = new Map<string, ConnectionTaker>()
  const moved: number[] = []
  const ends: End[] = []
  for (const name of ['a', 'b']) ends.push(await end(t, name, { clock, takers, moved, timing }))
  const [a, b] = ends
  if (a === undefined || b === undefined) throw new Error('there are two')
  return { clock, a, b, moved }
}

interface Common extends Pick<Both, 'clock' | 'moved'> {
  readonly takers: Map<string, ConnectionTaker>
  readonly timing: ServerOptions
}

async function end(t: TestContext, name: string, { clock, takers, moved, timing }: Common): Promise<End> {
  const permit = (place: string): MovePermit => ({
    give: async (handle, moves) => {
      moved.push(moves)
      // The system passes a connection on between processes without what this one knows of it.
      Object.assign(handle, { _consumed: false, reading: false })
      await turn()
      takers.get(place)?.take(handle, moves)
    },
  })
  const moves: Moves = {
    ask: async place => (takers.get(place)?.isReady(place) === true ? permit(place) : undefined),
    join: (_listener, taker) => {
      takers.set(name, taker)
      return () => void takers.delete(name)
    },
  }
  const held: ServerResponse[] = []
  const state = { isStopping: false, isDraining: false, maxConnections: 100 }
  const server = createServer(timing, (request, response) => {
    idle.arrived(request.socket)
    const [, place = ''] = (request.url ?? '').split('/')
    if (place !== name && place !== '') idle.named(request.socket, place)
    response.on('close', () => idle.settled(response))
    if (request.url?.endsWith('held')) held.push(response)
    else response.end(name)
  })
  const context = {
    name: 'main',
    clock,
    gate: {
      get isDraining() {
        return state.isDraining
      },
      admit: () => undefined,
    },
    get settings() {
      return state
    },
    get isStopping() {
      return state.isStopping
    },
  }
  const counted = { given: 0, taken: 0 }
  const sealing = { keys: [], place: name }
  const beside = { sealing, moved: (how: 'given' | 'taken') => void counted[how]++ }
  const idle = new IdleConnections(context, server, moves, beside)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup(t, () => {
    server.close()
    server.closeAllConnections()
  })
  return { name, server, idle, state, held, counted }
}

/** A client on one connection, byte by byte. */
class Wire {
  readonly socket: Socket
  text = ''
  hasEnded = false

  constructor({ server }: End) {
    this.socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    this.socket.on('data', chunk => (this.text += String(chunk)))
    this.socket.on('end', () => (this.hasEnded = true))
    this.socket.on('error', () => undefined)
  }

  /** Names of the servers that have answered, in order. */
  get answers(): string {
    return [...this.text.matchAll(/\r\n\r\n(\w)/g)].map(([, name]) => name).join('')
  }

  write(text: string): void {
    this.socket.write(text)
  }

  async ask(path: string): Promise<string> {
    const before = this.answers.length
    this.write(request(path))
    await until(() => this.answers.length > before || this.hasEnded)
    await settle()
    return this.answers.slice(before)
  }
}

function request(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}

/** Lets what was begun come to its end: a permit, a move. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn()
}

async function wire(t: TestContext, to: End): Promise<Wire> {
  const made = new Wire(to)
  cleanup(t, () => made.socket.destroy())
  await once(made.socket, 'connect')
  return made
}

/** Asks once that the other process is looked up, so that a permit is there. */
async function learn(t: TestContext, at: End, path: string): Promise<void> {
  const first = await wire(t, at)
  await first.ask(path)
  await first.ask(path)
}

test('a connection goes to where its last requests belonged, and its client sees nothing of it', async t => {
  const { a, b, moved } = await both(t)
  const client = await wire(t, a)
  assert.equal(await client.ask('/b'), 'a')
  while (moved.length === 0) assert.equal(await client.ask('/b'), 'a')
  for (let call = 0; call < 3; call++) assert.equal(await client.ask('/b'), 'b')
  assert.deepEqual(moved, [1])
  assert.equal(client.hasEnded, false)
  const counted = async (server: Server): Promise<number> =>
    new Promise(resolve => server.getConnections((_, count) => resolve(count)))
  assert.deepEqual([await counted(a.server), await counted(b.server)], [0, 1], 'each counts what it has')
  assert.deepEqual(
    [a.counted, b.counted],
    [
      { given: 1, taken: 0 },
      { given: 0, taken: 1 },
    ],
    'and tells of it',
  )
})

test('a connection stays where requests belong that are answered there', async t => {
  const { a, moved } = await both(t)
  const client = await wire(t, a)
  for (const path of ['/b', '/a', '/b', '/', '/b', '/a', '/b', '/a'])
    assert.equal(await client.ask(path), 'a')
  assert.deepEqual(moved, [])
})

test('nothing is lost that came before its time', async t => {
  const { a, moved } = await both(t)
  await learn(t, a, '/b')
  moved.length = 0
  const client = await wire(t, a)
  await client.ask('/b')
  const half = request('/b').length - 7
  for (let call = 0; call < 5; call++) {
    const before = client.answers.length
    // A whole request, and the first bytes of the next one, which the server has read when it answers.
    client.write(request('/b') + request('/b').slice(0, half))
    await until(() => client.answers.length === before + 1)
    await settle()
    assert.deepEqual(moved, [], 'while a request is half there')
    client.write(request('/b').slice(half) + request('/b') + request('/b'))
    await until(() => client.answers.length >= before + 4)
    await settle()
    if (moved.length > 0) break
  }
  assert.equal(client.hasEnded, false)
  assert.match(await client.ask('/b'), /^[ab]$/)
})

test('a request that is answered before it has been read stays with its connection', async t => {
  const { a, moved } = await both(t)
  await learn(t, a, '/b')
  moved.length = 0
  const client = await wire(t, a)
  await client.ask('/b')
  const body = request('/b')
  client.write(`POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`)
  await until(() => client.answers.length === 2)
  await settle()
  assert.deepEqual(moved, [], 'its body is on the way')
  client.write(body)
  await settle()
  assert.equal(client.answers, 'aa', 'a body is no request')
})

test('requests that arrive in the moment of the move are answered where it goes', async t => {
  const { a, b, moved } = await both(t)
  await learn(t, a, '/b')
  moved.length = 0
  const client = await wire(t, a)
  await client.ask('/b')
  client.write(request('/b/held'))
  await until(() => a.held.length === 1)
  a.held[0]?.end('a')
  // The answer and this cross: the server has not read it when it gives the connection away.
  await until(() => moved.length === 1)
  client.write(request('/b') + request('/b'))
  await until(() => client.answers.length === 4)
  assert.equal(client.answers, 'aabb')
  assert.equal(b.held.length, 0)
})

test('a connection whose client takes its time stays', async t => {
  const { a, clock, moved } = await both(t)
  const client = await wire(t, a)
  for (let call = 0; call < 6; call++) {
    assert.equal(await client.ask('/b'), 'a')
    clock.pass(3000)
  }
  assert.deepEqual(moved, [])
})

test('a connection moves three times in its life, each time after more requests', async t => {
  const { a, moved } = await both(t)
  const client = await wire(t, a)
  const needed = []
  for (const path of ['/b', '/a', '/b']) {
    const before = moved.length
    let calls = 0
    for (; moved.length === before; calls++) assert.match(await client.ask(path), /^[ab]$/)
    needed.push(calls)
  }
  const [first = 0, second = 0, third = 0] = needed
  assert.ok(first >= 2 && second >= 8 && third >= 32, needed.join(' '))
  for (let call = 0; call < 200; call++) await client.ask('/a')
  assert.deepEqual(moved, [1, 2, 3])
})

test('who leaves, or is full, takes no connection; and who leaves gives none', async t => {
  for (const change of [{ isStopping: true }, { isDraining: true }, { maxConnections: 1 }])
    for (const who of ['a', 'b'] as const) {
      const ends = await both(t)
      if (who === 'a' && 'maxConnections' in change) continue
      await (await wire(t, ends.b)).ask('/b')
      const client = await wire(t, ends.a)
      Object.assign(ends[who].state, change)
      for (let call = 0; call < 5; call++) assert.equal(await client.ask('/b'), 'a')
      assert.deepEqual(ends.moved, [], `${who} ${JSON.stringify(change)}`)
    }
})

test('a connection that moved may be idle for as long as its client was told, and then sends its request', async t => {
  const { a, b, clock, moved } = await both(t, { keepAliveTimeout: 30_000 })
  let accepted = 0
  b.server.on('connection', () => accepted++)
  const away = async (): Promise<Wire> => {
    const client = await wire(t, a)
    for (const before = moved.length; moved.length === before;) await client.ask('/b')
    return client
  }
  const [quiet, blank, used] = [await away(), await away(), await away()]
  await until(() => b.counted.taken === 3)
  blank.write('\r\n')
  for (const times of [2, 3, 4]) {
    // Node answers 408 to who is accepted and asks nothing for ten seconds: each is accepted anew.
    clock.pass(8000)
    await until(() => accepted >= 3 * times)
  }
  assert.match(await used.ask('/b'), /b/, 'a request that comes late is answered')
  assert.deepEqual([quiet.hasEnded, blank.hasEnded], [false, false])
  clock.pass(8000)
  await until(() => quiet.hasEnded && blank.hasEnded)
  assert.match(await used.ask('/b'), /b/)
  assert.equal(b.counted.taken, 3, 'each is counted once')
})

test('a connection that nobody uses after its move closes without a word', async t => {
  const { a, clock, moved } = await both(t)
  const [quiet, busy] = [await wire(t, a), await wire(t, a)]
  for (const client of [quiet, busy])
    while (!client.text.endsWith('b') && moved.length < (client === quiet ? 1 : 2)) await client.ask('/b')
  assert.match(await busy.ask('/b'), /b/)
  const { text } = quiet
  clock.pass(8000)
  await until(() => quiet.hasEnded)
  assert.equal(quiet.text, text)
  assert.match(await busy.ask('/b'), /b/)
})
