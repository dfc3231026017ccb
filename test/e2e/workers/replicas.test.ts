import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Agent, fetch } from 'undici'
import { closeAfter, testClient, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { directory, gateway } from '../cli/run.ts'
import { placeOf, skipOne, twoWorkers, until, type Running } from './setting.ts'

const ECHO = { name: 'web__echo', arguments: { text: 'hello' } }

interface Replica {
  readonly id: string
  readonly address: string
  readonly isSelf: boolean
}

interface Said {
  readonly replicas: readonly Replica[]
  readonly refused: number
  readonly adopted: number
  readonly fenced: number
}

async function replicasOf({ cwd }: Running): Promise<Said> {
  return JSON.parse((await gateway(['replicas', '--json'], { cwd })).stdout) as Said
}

/** A legacy client whose session is at the worker of this number, and the pid of that. */
async function clientOf(running: Running, number: number): Promise<{ client: TestClient; pid: number }> {
  for (;;) {
    const client = await testClient(running.url, { era: 'legacy' })
    const place = placeOf(client.initialized?.headers['mcp-session-id'])
    const found = (await running.ps()).workers.find(({ load }) => load.replica === place)
    if (found?.worker === number) return { client, pid: found.pid }
    await client.close()
    await skipOne(running.url)
  }
}

/** Status of a hand-on that nobody of the gateway has made. */
function knock(socketPath: string, session: string, voucher: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'mcp-session-id': session,
      ...(voucher === undefined ? {} : { 'x-tapgate-handed': voucher }),
    }
    const sent = request({ socketPath, path: '/mcp', method: 'GET', headers }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('workers are replicas of one machine', { skip: process.platform === 'win32' }, async t => {
  const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
  const running = await twoWorkers(t, { upstreams: { web: { type: 'http', url: web.url } } })
  const { url } = running

  await t.test('each takes what is handed on at a socket that only their user reaches', async () => {
    const { replicas } = await replicasOf(running)
    assert.equal(replicas.length, 2)
    for (const { id, address, isSelf } of replicas) {
      assert.ok(isSelf, 'each of them is a process of this gateway')
      const path = address.replace(/^unix:/, '')
      assert.ok(path.endsWith(id))
      assert.equal((await stat(path)).mode & 0o777, 0o600)
      assert.equal((await stat(dirname(path))).mode & 0o777, 0o700)
    }
  })

  await t.test('what is forged at such a socket is refused and counted', async () => {
    const { client } = await clientOf(running, 1)
    closeAfter(t, client)
    const session = String(client.initialized?.headers['mcp-session-id'])
    const before = await replicasOf(running)
    const path = String(
      before.replicas.find(({ id }) => id === placeOf(session))?.address.slice('unix:'.length),
    )
    for (const voucher of [undefined, '', 'v1.start.x.e30', `v1.start.${'A'.repeat(43)}.e30`])
      assert.equal(await knock(path, session, voucher), 403)
    assert.equal((await replicasOf(running)).refused - before.refused, 4)
  })

  await t.test('a session outlives the worker that had it', async t => {
    const { client, pid } = await clientOf(running, 1)
    closeAfter(t, client)
    assert.equal((await client.request('tools/call', ECHO)).status, 200)

    process.kill(pid, 'SIGKILL')

    await until(async () => {
      const { status } = await client.request('tools/call', ECHO).catch(() => ({ status: 0 }))
      assert.notEqual(status, 404, 'it is never said to be gone')
      return status === 200
    })
    await until(async () => (await running.ps()).workers.every(({ ready }) => ready))
    for (let turn = 0; turn < 4; turn++) {
      assert.equal((await client.request('tools/call', ECHO)).status, 200)
      await skipOne(url)
    }
    assert.ok((await replicasOf(running)).adopted >= 1)
  })

  await t.test(
    'one that is stopped loses its sessions to the other, and does not answer for them when it wakes',
    async t => {
      const { client, pid } = await clientOf(running, 2)
      closeAfter(t, client)
      assert.equal((await client.request('tools/call', ECHO)).status, 200)
      const [adopted, fenced] = await replicasOf(running).then(said => [said.adopted, said.fenced])

      process.kill(pid, 'SIGSTOP')
      cleanup(t, () => void process.kill(pid, 'SIGCONT'))
      const session = String(client.initialized?.headers['mcp-session-id'])
      await until(async () => (await post(url, session, undefined, 2000)) === 200, 60_000)
      process.kill(pid, 'SIGCONT')

      await until(async () => (await replicasOf(running)).fenced > Number(fenced), 60_000)
      assert.ok((await replicasOf(running)).adopted > Number(adopted))
      for (let turn = 0; turn < 4; turn++) assert.equal(await post(url, session), 200)
    },
  )

  await t.test('a modern call asks nobody: it is answered while the primary is stopped', async t => {
    const kept = new Agent({ connections: 1, pipelining: 1 })
    cleanup(t, () => kept.destroy())
    assert.equal(await post(url, undefined, kept), 200)
    const { pid = 0 } = running.child

    process.kill(pid, 'SIGSTOP')
    try {
      for (let call = 0; call < 20; call++) assert.equal(await post(url, undefined, kept), 200)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })
})

test(
  'nothing of the sockets is left, however the primary ends',
  { skip: process.platform === 'win32' },
  async t => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const running = await twoWorkers(t, { upstreams: {} })
      const [one] = (await replicasOf(running)).replicas
      const place = dirname(String(one?.address.slice('unix:'.length)))
      assert.ok((await stat(place)).isDirectory())

      running.child.kill(signal)

      await until(async () => (await stat(place).catch(() => undefined)) === undefined)
    }
  },
)

test(
  'nothing of the sockets is left by a start that fails',
  { skip: process.platform === 'win32' },
  async t => {
    const agents = { roots: ['nowhere'], list: { ada: { command: 'node' } } }
    const whole = { version: 1, listeners: { main: { type: 'http', port: 0 } }, agents }
    const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(whole), 'tmp/here': '' })
    const TMPDIR = join(cwd, 'tmp')

    const { code, stderr } = await gateway(['serve', '--workers', '2'], { cwd, env: { TMPDIR } })

    assert.equal(code, 3)
    assert.match(stderr, /"nowhere" is no directory/)
    const left = await readdir(TMPDIR)
    assert.deepEqual(
      left.filter(name => name.startsWith('tapgate-workers-')),
      [],
    )
  },
)

test('with cluster, each worker is a replica beside those of other machines', { skip }, async t => {
  const redis = await redisFor(t)
  const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
  const key = { id: 'a', key: Buffer.alloc(32, 5).toString('base64') }
  const config = {
    upstreams: { web: { type: 'http', url: web.url } },
    cluster: { redis: redis.url, keys: [key] },
  }
  const [here, there] = [await twoWorkers(t, config), await twoWorkers(t, config)]

  const { replicas } = await replicasOf(here)
  assert.equal(replicas.length, 4)
  assert.deepEqual(replicas.map(({ isSelf }) => isSelf).sort(), [false, false, true, true])
  assert.equal(new Set(replicas.map(({ address }) => address)).size, 4)
  const { client, pid } = await clientOf(here, 1)
  closeAfter(t, client)
  const session = String(client.initialized?.headers['mcp-session-id'])
  for (let turn = 0; turn < 4; turn++) assert.equal(await post(there.url, session), 200)

  process.kill(pid, 'SIGKILL')

  await until(async () => (await post(there.url, session)) === 200)
})

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const MODERN = {
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': ECHO.name },
  params: {
    ...ECHO,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

/** Status of one call, on a connection of its own where none is given: in a session, or as a modern request. */
async function post(
  url: string,
  session: string | undefined,
  dispatcher?: Agent,
  withinMs = 30_000,
): Promise<number> {
  const { headers, params } =
    session === undefined ? MODERN : { headers: { 'mcp-session-id': session }, params: ECHO }
  const connection =
    dispatcher === undefined ? { headers: { connection: 'close' } } : { headers: {}, dispatcher }
  try {
    const answer = await fetch(url, {
      ...connection,
      method: 'POST',
      headers: { ...HEADERS, ...headers, ...connection.headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: AbortSignal.timeout(withinMs),
    })
    return answer.status === 200 && !(await answer.text()).includes('"result"') ? 0 : answer.status
  } catch {
    return 0
  }
}
