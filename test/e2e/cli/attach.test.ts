import assert from 'node:assert/strict'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { isAlive } from '../../unit/fixtures/is-alive.ts'
import { answersCommands, directory, gateway, gatewayProcess } from './run.ts'

const WHO = fileURLToPath(new URL('../../fixtures/servers/who-server.mjs', import.meta.url))
const server = { type: 'stdio', command: process.execPath, args: [WHO] }

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
}

/** A directory with a configuration whose gateway is stopped at the end. */
async function place(t: TestContext, config: object): Promise<Place> {
  requireBuild()
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify({ version: 1, ...config }) })
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: cwd,
    XDG_STATE_HOME: join(cwd, 'state'),
    XDG_RUNTIME_DIR: cwd,
  }
  cleanup(t, () => gateway(['down'], { cwd, env }))
  return { cwd, env }
}

async function attached(t: TestContext, at: Place, ...args: string[]): Promise<Client> {
  const client = new Client({ name: 'editor', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [LAUNCHER, 'attach', '-c', join(at.env.HOME ?? '', 'gateway.yaml'), ...args],
      cwd: at.cwd,
      env: at.env,
      stderr: 'pipe',
    }),
  )
  cleanup(t, () => client.close())
  return client
}

async function who(client: Client, tool = 'who__who'): Promise<{ pid: number; cwd: string }> {
  const { content } = await client.callTool({ name: tool })
  const [first] = content as { text: string }[]
  return JSON.parse(first?.text ?? '') as { pid: number; cwd: string }
}

/** A call while gateways start ends with an error that says to try again. */
async function whoAtLast(client: Client): Promise<{ pid: number }> {
  for (;;)
    try {
      return await who(client)
    } catch (error) {
      assert.match(String(error), /has not run: try again/)
    }
}

async function pidOf({ cwd, env }: Place): Promise<number> {
  const { stdout } = await gateway(['status', '--json'], { cwd, env })
  return (JSON.parse(stdout) as { gateway: { pid: number } }).gateway.pid
}

test('clients that attach share one gateway and its servers, which the first of them starts', async t => {
  const at = await place(t, { upstreams: { who: server, own: { ...server, isolation: 'session' } } })
  const clients = await Promise.all([attached(t, at), attached(t, at), attached(t, at)])

  const shared = await Promise.all(clients.map(client => who(client)))
  const apart = await Promise.all(clients.map(client => who(client, 'own__who')))

  assert.equal(new Set(shared.map(({ pid }) => pid)).size, 1)
  assert.equal(new Set(apart.map(({ pid }) => pid)).size, 3)
  assert.equal((await gateway(['up'], at)).stdout.includes('already running'), true)
})

test('a server with cwd: project runs where the attached client was started', async t => {
  const at = await place(t, { upstreams: { who: { ...server, cwd: 'project', projects: ['.'] } } })
  const project = join(at.cwd, 'one')
  await mkdir(project)

  const client = await attached(t, { ...at, cwd: project })

  assert.equal((await who(client)).cwd, realpathSync(project))
})

test('when the gateway is killed each of four clients knows of the call that was under way, and goes on at the next one', async t => {
  const at = await place(t, { upstreams: { who: server } })
  const clients = await Promise.all(Array.from({ length: 4 }, () => attached(t, at)))
  const changed = clients.map(
    client =>
      new Promise<void>(resolve => client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve())),
  )
  const [before] = await Promise.all(clients.map(client => who(client)))
  const slow = clients.map(client => client.callTool({ name: 'who__slow' }).catch((error: unknown) => error))

  process.kill(await pidOf(at), 'SIGKILL')

  for (const outcome of await Promise.all(slow))
    assert.match(String(outcome), /gateway exited during the call, which may have run/)
  for (const { pid } of await Promise.all(clients.map(client => whoAtLast(client)))) assert.notEqual(pid, before?.pid)
  await Promise.all(changed)
})

test('a gateway that attach started stops when its last client has left, and one that up started does not', async t => {
  const at = await place(t, { upstreams: { who: server }, shutdown: { idle: '1s' } })
  const client = await attached(t, at)
  await who(client)
  await new Promise(resolve => setTimeout(resolve, 1500))
  const pid = await pidOf(at)
  await client.close()
  await until(() => !isAlive(pid), 'the gateway of attach stops')

  await gateway(['up'], at)
  await new Promise(resolve => setTimeout(resolve, 2000))
  assert.equal((await gateway(['status'], at)).code, 0)
})

test('of many gateways that are started at once one stays', async t => {
  const at = await place(t, { upstreams: { who: server } })

  const started = await Promise.all(Array.from({ length: 4 }, () => gatewayProcess(['up', '--json'], at)))

  assert.deepEqual(
    started.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  await answersCommands(at)
  const { stdout } = await gateway(['ps', '--all', '--json'], at)
  assert.equal((JSON.parse(stdout) as unknown[]).length, 1)
})

test('up, status and down say what they did, and status fails when nothing runs', async t => {
  const at = await place(t, { upstreams: { who: server } })

  assert.match((await gateway(['up'], at)).stdout, /^started the gateway of gateway\.yaml in the background/)
  await answersCommands(at)
  assert.match((await gateway(['status'], at)).stdout, /gateway\.log/)
  assert.match((await gateway(['down'], at)).stdout, /^stopped pid \d+/)

  const gone = await gateway(['status'], at)
  assert.equal(gone.code, 4)
  assert.match(gone.stdout, /^not running: start it with gateway up -c .*gateway\.yaml\n$/)
  assert.match((await gateway(['status', '--json'], at)).stdout, /GW_NO_GATEWAY/)
  const [logs, last] = await Promise.all([gateway(['logs'], at), gateway(['logs', '--lines', '1', '--json'], at)])
  assert.match(logs.stdout, /^.* info +listening .*attach/m)
  assert.match(logs.stdout, /stopping/)
  const { lines } = JSON.parse(last.stdout) as { lines: { message: unknown }[] }
  assert.deepEqual([lines.length, typeof lines[0]?.message], [1, 'string'])
})

test('the log of a gateway that never ran in the background is said to be missing, with its path', async t => {
  const at = await place(t, { upstreams: { who: server } })

  const { code, stderr } = await gateway(['logs'], at)

  assert.equal(code, 2)
  assert.match(stderr, /gateway\.log does not exist: gateway up writes it/)
})

test('a configuration with a mistake is told in the same words to who starts it in the background, or attaches', async t => {
  const at = await place(t, { upstreams: { who: { type: 'stdio' } } })
  const validated = await gateway(['validate'], at)

  for (const command of [['up'], ['attach']]) {
    const { code, stderr } = await gateway(command, at)

    assert.equal(stderr, validated.stderr)
    assert.equal(code, 3)
  }
})

test('a gateway that cannot start says why, to who attaches too', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  cleanup(t, () => taken.close())
  const { port } = taken.address() as AddressInfo
  const at = await place(t, { listeners: { main: { type: 'http', port } }, upstreams: { who: server } })

  const { code, stderr } = await gateway(['attach'], at)

  assert.equal(code, 4)
  assert.match(stderr, /GW_BACKGROUND.*GW_LISTEN.*port is in use/s)
})
