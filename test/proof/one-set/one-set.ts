/**
 * Shows what one set of servers is worth: 15 attached clients before 34 servers, which are Claude Code, Codex, Gemini CLI,
 * opencode, and others of two SDKs. Counts processes and memory, checks that servers of sessions and projects are kept
 * apart over 10,000 calls, and kills the gateway with SIGKILL under load. The real clients get the gateway by `gateway connect`, and a model server of our own tells them
 * what to call; they come from npm at first use, into ~/.cache/tapgate-clients (or $TAPGATE_CLIENTS). Exits with 1 when
 * anything is wrong.
 *
 *   npm run proof -- one-set       about five minutes, and 1.2 GB the first time; CALLS=1000 for fewer; Linux only, for its /proc
 */
import { setTimeout as pause } from 'node:timers/promises'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { connectV1 } from '../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../peers/sdk-v2-client.ts'
import { below, memoryOf } from './processes.ts'
import { RealTurns } from './real-turns.ts'
import type { Said } from './said.ts'
import { BACK_MS, until } from './waits.ts'

const CLIENTS = 15
const SERVERS = 34
const CALLS = Number(process.env.CALLS ?? 10_000)
/** Servers of sessions and projects have one process for their lists, too. */
const FOR_LISTS = 2
const KILLS = 2
const ECHO = fileURLToPath(new URL('echo-server.mjs', import.meta.url))

interface Attached {
  readonly project: string
  call(server: string, value: string): Promise<Said>
  close(): Promise<void>
}

requireBuild()
const folder = await realpath(await mkdtemp(join(tmpdir(), 'one-set-')))
const env = {
  PATH: process.env.PATH ?? '',
  HOME: folder,
  XDG_STATE_HOME: join(folder, 'state'),
}
const config = join(folder, 'gateway.yaml')
const shared = Array.from({ length: SERVERS }, (_, i) => `s${i + 1}`)
let isFine = true
let real: RealTurns | undefined

function check(isRight: boolean, text: string): void {
  console.log(`${isRight ? 'ok   ' : 'WRONG'}  ${text}`)
  isFine &&= isRight
}

try {
  await writeFile(config, JSON.stringify({ version: 1, upstreams: upstreams() }), {
    mode: 0o600,
  })
  gateway('up')
  real = await RealTurns.prepare(folder, config, check)
  await real.list(check)
  const clients = await Promise.all(Array.from({ length: CLIENTS - real.count }, (_, i) => attach(i)))
  await real.begin(shared)
  await processesAndMemory(clients)
  await real.open('measured')
  const sessions = await isolation(clients)
  await real.waiting('load')
  await real.open('load')
  await kills(clients)
  await real.waiting('back')
  await real.open('back')
  sessions.push(...(await real.judge(check)))
  check(
    sessions.length === CLIENTS && new Set(sessions).size === CLIENTS,
    `isolation: session: ${new Set(sessions).size} processes for ${CLIENTS} clients, each its own`,
  )
  real.disconnect(check)
  await Promise.all(clients.map(client => client.close().catch(() => undefined)))
} finally {
  await real?.stop()
  gateway('down')
  await rm(folder, { recursive: true, force: true })
}
if (!isFine) process.exitCode = 1

function upstreams(): Record<string, object> {
  const server = (name: string): object => ({
    type: 'stdio',
    command: process.execPath,
    args: [ECHO, name],
    timeout: '60s',
  })
  return {
    ...Object.fromEntries(shared.map(name => [name, server(name)])),
    own: { ...server('own'), isolation: 'session', start: 'lazy' },
    here: { ...server('here'), cwd: 'project', projects: ['.'], start: 'lazy' },
  }
}

function gateway(...args: string[]): string {
  const { stdout, status, stderr } = spawnSync(process.execPath, [LAUNCHER, ...args, '-c', config], {
    env,
    encoding: 'utf8',
  })
  if (status !== 0) console.error(`gateway ${args.join(' ')}: ${status} ${stderr}`)
  return stdout
}

function gatewayPid(): number {
  return (JSON.parse(gateway('status', '--json')) as { gateway: { pid: number } }).gateway.pid
}

/** Attaches every second client with the SDK of version 1, the others with that of version 2. */
async function attach(index: number): Promise<Attached> {
  const project = join(folder, `project-${index}`)
  await mkdir(project)
  const target = { command: process.execPath, args: [LAUNCHER, 'attach', '-c', config], cwd: project, env }
  const client = index % 2 === 0 ? await connectV1(target) : await connectV2(target, 'auto')
  return {
    project,
    async call(server, value) {
      const { content } = await client.callTool({ name: `${server}__echo`, arguments: { value } })
      return JSON.parse((content as { text: string }[])[0]?.text ?? '') as Said
    },
    close: () => client.close(),
  }
}

async function processesAndMemory(clients: readonly Attached[]): Promise<void> {
  // Every server is called once, so that all run.
  for (const [i, server] of shared.entries()) await clients[i % clients.length]?.call(server, 'warm')
  const pid = gatewayPid()
  const servers = (await below(pid)).filter(one => lineOf(one).includes(ECHO))
  const shims = (await below(process.pid)).filter(one => lineOf(one).includes('attach -c'))
  const [core, all, thin] = await Promise.all([memoryOf([pid]), memoryOf(servers), memoryOf(shims)])
  const alone = (SERVERS / all.count) * CLIENTS
  const before = { count: CLIENTS * SERVERS, pss: alone * all.pss, rss: alone * all.rss }
  const after = {
    count: all.count + thin.count + 1,
    pss: all.pss + thin.pss + core.pss,
    rss: all.rss + thin.rss + core.rss,
  }
  const mib = (value: number): string => `${Math.round(value)} MiB`
  console.log(
    `       each client with its own servers (${CLIENTS} times what these take): ${before.count} processes, ${mib(before.pss)} PSS`,
  )
  console.log(
    `       one set: ${all.count} servers (${mib(all.pss)}), ${thin.count} shims (${mib(thin.pss)}), the gateway (${mib(core.pss)})`,
  )
  check(
    all.count === SERVERS + FOR_LISTS && thin.count === CLIENTS,
    `${before.count} processes are ${after.count}: ${SERVERS} servers, ${FOR_LISTS} for lists, ${CLIENTS} shims, 1 gateway`,
  )
  check(
    after.pss * 4 < before.pss,
    `${mib(before.pss)} are ${mib(after.pss)} PSS (${mib(before.rss)} and ${mib(after.rss)} RSS)`,
  )
}

function lineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** Shared servers are the same for all, those of sessions are one each, and those of projects run where the client does. */
async function isolation(clients: readonly Attached[]): Promise<number[]> {
  const own = new Map<number, Set<number>>()
  const common = new Map<string, Set<number>>()
  const wrong: string[] = []
  let done = 0
  const all = clients.map(async (client, index) => {
    for (let i = 0; i < Math.ceil(CALLS / clients.length); i++) {
      const server = serverFor(i, index)
      const value = `${index}-${i}`
      const said = await client.call(server, value)
      done++
      if (!isRight(said, { server, value, project: client.project }))
        wrong.push(`${server} said ${JSON.stringify(said)} to ${index}`)
      if (server === 'own') own.set(index, (own.get(index) ?? new Set()).add(said.pid))
      else if (server !== 'here') common.set(server, (common.get(server) ?? new Set()).add(said.pid))
    }
  })
  await Promise.all(all)
  const pids = [...own.values()].flatMap(set => [...set])
  check(
    wrong.length === 0,
    `${done} calls of clients of SDKs: each answer is the caller's, from the server that was asked${wrong.length > 0 ? `: ${wrong[0]}` : ''}`,
  )
  check(
    [...common.values()].every(set => set.size === 1),
    'shared servers: one process each for all clients',
  )
  return pids
}

/** In turns: the server of the session, the one of the project, and one that all share. */
function serverFor(call: number, client: number): string {
  return ['own', 'here', String(shared[(call * 7 + client) % SERVERS])][call % 3] ?? 'own'
}

function isRight(
  said: Said,
  { server, value, project }: { readonly server: string; readonly value: string; readonly project: string },
): boolean {
  return said.value === value && said.name === server && (server !== 'here' || said.cwd === project)
}

/** Every client calls without a pause while the gateway is killed; all of them must go on at the next one. */
async function kills(clients: readonly Attached[]): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    const pid = gatewayPid()
    const load = { isOver: false, failed: 0, answered: 0 }
    const callers = clients.map(async (client, index) => {
      for (let i = 0; !load.isOver; i++)
        await client.call(String(shared[(i + index) % SERVERS]), `${i}`).then(
          () => load.answered++,
          () => load.failed++,
        )
    })
    await until(() => load.answered > CLIENTS * 5)
    const before = await below(pid)
    process.kill(pid, 'SIGKILL')
    const killed = performance.now()
    const back = clients.map(client => goesOn(client))
    const times = await Promise.all(back)
    load.isOver = true
    await Promise.all(callers)
    const slowest = Math.max(...times.map(time => time - killed))
    const next = gatewayPid()
    check(
      times.every(Number.isFinite) && next !== pid,
      `kill -9 number ${kill} under load: ${times.filter(Number.isFinite).length} of ${clients.length} clients go on, the last after ${(slowest / 1000).toFixed(1)} s; ${load.failed} calls that were under way ended with an error`,
    )
    const isLeft = (): boolean => before.some(one => lineOf(one).includes(ECHO))
    await until(() => !isLeft())
    check(before.length > 0 && !isLeft(), `none of the ${before.length} processes of the killed gateway is left`)
  }
}

async function goesOn(client: Attached): Promise<number> {
  const end = performance.now() + BACK_MS
  while (performance.now() < end) {
    const isAnswered = await client.call('s1', 'back').then(
      () => true,
      () => false,
    )
    if (isAnswered) return performance.now()
    await pause(100)
  }
  return Infinity
}
