import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { fetch } from 'undici'
import { cleanup } from '../../fixtures/cleanup.ts'
import { everything, placeOf, skipOne, twoWorkers, until, type Running } from './setting.ts'

const VERSION = '2025-06-18'

/** All callers of a session number their requests together. */
let last = 0

/** A program with one connection, which it keeps. */
class Caller {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #session: string
  /** Its own ports, one for each connection that it has had. */
  readonly ports = new Set<number | undefined>()
  constructor(url: string, session: string) {
    this.#url = url
    this.#session = session
  }

  /** Echoes a text of its own, and returns how that ended. */
  async echo(more: object = {}): Promise<'right' | 'wrong' | 'lost' | number> {
    const id = ++last
    const message = `${this.#session} ${id} ${Math.random()}`
    const params = { name: 'test_echo', arguments: { message }, ...more }
    try {
      const answer = await this.#post({ jsonrpc: '2.0', id, method: 'tools/call', params })
      const said = await text(answer)
      if (answer.statusCode !== 200) return answer.statusCode ?? 0
      return said.includes(`${message}"`) && said.includes(`"id":${id}`) ? 'right' : 'wrong'
    } catch {
      return 'lost'
    }
  }

  #post(body: object): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers: headers(this.#session) })
      sent.on('socket', socket =>
        socket.connecting
          ? socket.once('connect', () => this.ports.add(socket.localPort))
          : this.ports.add(socket.localPort),
      )
      sent.on('response', resolve).on('error', reject)
      sent.end(JSON.stringify(body))
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

function headers(session?: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': VERSION }),
  }
}

/** Opens a session with a connection that closes. */
async function open(url: string): Promise<string> {
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const begun = await fetch(url, {
    method: 'POST',
    headers: { ...headers(), connection: 'close' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  await begun.text()
  const session = String(begun.headers.get('mcp-session-id'))
  const ready = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await fetch(url, { method: 'POST', headers: { ...headers(session), connection: 'close' }, body: ready })
  return session
}

function caller(t: TestContext, url: string, session: string): Caller {
  const made = new Caller(url, session)
  cleanup(t, () => made.close())
  return made
}

/** Requests that were handed on until now, and connections that wait for one. */
function handedOn(url: string): Promise<number> {
  return sumOf(url, 'handed_on')
}

async function sumOf(url: string, name: string): Promise<number> {
  const page = await fetch(new URL('/metrics', url), { headers: { connection: 'close' } })
  const line = new RegExp(`^tapgate_cluster_${name}_total\\{\\S+\\} (\\d+)$`, 'gm')
  const found = [...(await page.text()).matchAll(line)]
  assert.equal(found.length, 2)
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}

function started(t: TestContext, more: object = {}): Promise<Running> {
  const upstreams = { all: everything('legacy', { prefix: '' }) }
  return twoWorkers(t, { metrics: {}, upstreams, ...more })
}

test('connections go to the worker that has the session of their client', async t => {
  const running = await started(t)
  const { url } = running

  await t.test('all of them soon do, and none of their clients notices', async t => {
    const session = await open(url)
    const callers = Array.from({ length: 40 }, () => caller(t, url, session))
    const round = async (calls: number): Promise<void> => {
      const said = await Promise.all(
        callers.map(async one => {
          for (let call = 0; call < calls; call++) assert.equal(await one.echo(), 'right')
        }),
      )
      assert.equal(said.length, callers.length)
    }
    let before = await handedOn(url)
    await until(async () => {
      await round(5)
      const now = await handedOn(url)
      const isOver = now === before
      before = now
      return isOver
    })
    const given = await sumOf(url, 'connections_given')
    assert.ok(given > 0, 'those that moved are counted')
    assert.equal(await sumOf(url, 'connections_taken'), given)
    for (const { ports } of callers) assert.equal(ports.size, 1, 'each has the connection that it began with')
  })

  await t.test('those that mix sessions of both workers stay, or move a little, and are served', async t => {
    const sessions = new Map<string | undefined, string>()
    await until(async () => {
      const session = await open(url)
      sessions.set(placeOf(session), session)
      await skipOne(url)
      return sessions.size === 2
    })
    const [one, other] = [...sessions.values()]
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    cleanup(t, () => socket.destroy())
    await once(socket, 'connect')
    let said = ''
    socket.on('data', chunk => (said += String(chunk)))
    let ended = false
    socket.on('close', () => (ended = true))
    for (let call = 1; call <= 120; call++) {
      // Runs of all lengths; and every third request comes ahead of the answer to the one before.
      const session = Math.floor(Math.sqrt(call)) % 2 === 0 ? one : other
      const message = `<mixed ${call}>`
      const params = { name: 'test_echo', arguments: { message } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: call, method: 'tools/call', params })
      const head = Object.entries({ ...headers(session), host: 'localhost', 'content-length': body.length })
      const whole = `POST /mcp HTTP/1.1\r\n${head.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${body}`
      if (call % 3 === 0) {
        socket.write(whole.slice(0, 60))
        await new Promise(resolve => setTimeout(resolve, 2))
        socket.write(whole.slice(60))
      } else socket.write(whole)
      if (call % 3 !== 1) await until(() => said.includes(message) || ended)
    }
    await until(() => said.includes('<mixed 120>') || ended)
    assert.equal(ended, false)
    const heard = [...said.matchAll(/<mixed (\d+)>/g)].map(([, call]) => Number(call))
    assert.deepEqual(
      heard,
      Array.from({ length: 120 }, (_, index) => index + 1),
      'each once and in order',
    )
  })

  await t.test('a stop ends them within its grace', async t => {
    const session = await open(url)
    const callers = Array.from({ length: 8 }, () => caller(t, url, session))
    for (let call = 0; call < 4; call++) for (const one of callers) assert.equal(await one.echo(), 'right')
    running.child.kill('SIGTERM')
    assert.equal(await running.exit, 0)
  })
})

test('a worker that is killed while connections move loses what was under way, and nothing waits for ever', async t => {
  const { url, ps } = await started(t)
  const seen = { right: 0, wrong: 0, lost: 0, other: 0 }
  for (let kill = 0; kill < 2; kill++) {
    const session = await open(url)
    const callers = Array.from({ length: 40 }, () => caller(t, url, session))
    const { workers } = await ps()
    const owner = workers.find(({ load }) => load.replica === placeOf(session))
    const victim = kill === 0 ? owner : workers.find(worker => worker !== owner)
    const work = Promise.all(
      callers.map(async (one, index) => {
        for (let call = 0; call < 12; call++) {
          const said = await one.echo()
          if (typeof said === 'number') seen.other++
          else seen[said]++
          if (index === 0 && call === 1) process.kill(victim?.pid ?? 0, 'SIGKILL')
        }
      }),
    )
    await work
    await until(async () => (await ps()).workers.every(({ ready }) => ready))
    for (const one of callers) {
      await until(async () => (await one.echo()) === 'right')
      one.close()
    }
  }
  assert.equal(seen.wrong, 0)
  assert.ok(seen.right > seen.lost, JSON.stringify(seen))
})
