// 100 reloads under 200 requests a second, 50 broken configurations in between: npm run proof:reloads
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connectControl, type ControlClient } from '../../src/control/client.ts'
import { livingSockets } from '../../src/control/place.ts'
import { testClient, type TestClient } from '../../src/testing/index.ts'

const RELOADS = Number(process.env['RELOADS'] ?? 100)
const BROKEN = RELOADS / 2
const RATE = 200
/** Time between two changes of the file. */
const PAUSE_MS = Number(process.env['PAUSE_MS'] ?? 120)
const WARM_UP_MS = 5000
const SERVER = fileURLToPath(new URL('../fixtures/bad-server.ts', import.meta.url))
const LAUNCHER = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

const BROKEN_TEXTS = [
  'version: 1\nlisteners: {',
  'version: 1\ncash: 1\n',
  'version: 1\nupstreams: { stays: { type: stdio } }\n',
  'version: 1\nplugins: { none: { use: ./nowhere.ts } }\n',
]

interface Load {
  readonly took: number[]
  readonly failures: string[]
  stop(): Promise<void>
}

interface Gateway {
  readonly child: ChildProcess
  readonly url: string
  readonly control: ControlClient
  readonly file: string
}

const directory = await mkdtemp(join(tmpdir(), 'reloads-'))
const gateway = await startGateway()
const clients = await Promise.all(
  (['legacy', 'legacy', 'modern', 'modern'] as const).map(era => testClient(gateway.url, { era })),
)
try {
  const isFine = await prove(gateway, clients)
  process.exitCode = isFine ? 0 : 1
} finally {
  for (const client of clients) await client.close()
  gateway.control.close()
  gateway.child.kill('SIGTERM')
  await new Promise(resolve => gateway.child.once('exit', resolve))
  await rm(directory, { recursive: true, force: true })
}

async function prove({ control, child, file }: Gateway, clients: readonly TestClient[]): Promise<boolean> {
  const quiet = load(clients)
  await pause(WARM_UP_MS)
  await quiet.stop()
  const pid = await pidOfStaying(control)
  const before = await usage(child)

  const busy = load(clients)
  const begun = performance.now()
  const outcomes = await reloads(control, file)
  const seconds = (performance.now() - begun) / 1000
  await busy.stop()
  await pause(1000)
  const after = await usage(child)
  const pids = [pid, await pidOfStaying(control)]

  const rows = {
    'reloads in force': `${outcomes.reloaded} of ${RELOADS}`,
    'broken configurations refused': `${outcomes.refused} of ${BROKEN}`,
    'requests during them': `${busy.took.length} in ${seconds.toFixed(1)} s (${Math.round(busy.took.length / seconds)}/s)`,
    'requests that failed': busy.failures.length + quiet.failures.length,
    'p50 / p99 / max, no reloads': times(quiet.took),
    'p50 / p99 / max, reloading': times(busy.took),
    'process of the unchanged upstream': `${pids[0]} → ${pids[1]}`,
    'resident memory': `${before.rss} → ${after.rss} MiB`,
    'open files': `${before.files} → ${after.files}`,
    'processes below': `${before.children} → ${after.children}`,
  }
  for (const [name, value] of Object.entries(rows)) console.log(`${name.padEnd(34)} ${value}`)
  for (const failure of [...quiet.failures, ...busy.failures].slice(0, 5)) console.log(`  failed: ${failure}`)
  return (
    outcomes.reloaded === RELOADS &&
    outcomes.refused === BROKEN &&
    busy.failures.length === 0 &&
    pids[0] === pids[1] &&
    after.files <= before.files + 5 &&
    after.children === before.children
  )
}

/** Each configuration differs from the one before in something else. */
function configText(round: number): string {
  const stdio = {
    type: 'stdio',
    command: process.execPath,
    args: ['--no-warnings', SERVER, '--mode', 'good'],
  }
  return JSON.stringify({
    version: 1,
    log: { level: 'warn' },
    listeners: { main: { type: 'http', port: 0, limits: { sessions: 1000 + (round % 3) } } },
    lists: { pageSize: 100 + (round % 7) },
    filters: round % 4 === 1 ? { tools: { deny: ['*nothing'] } } : {},
    upstreams: {
      stays: stdio,
      changes: { ...stdio, env: { ROUND: String(Math.floor(round / 5)) } },
      ...(round % 10 < 5 ? {} : { comes: stdio }),
    },
  })
}

async function reloads(control: ControlClient, file: string): Promise<{ reloaded: number; refused: number }> {
  const outcomes = { reloaded: 0, refused: 0 }
  for (let round = 1; round <= RELOADS; round++) {
    await writeFile(file, configText(round))
    await control.request('reload')
    outcomes.reloaded++
    await pause(PAUSE_MS)
    if (round % 2 === 0) continue
    await writeFile(file, BROKEN_TEXTS[Math.floor(round / 2) % BROKEN_TEXTS.length] ?? '')
    await control.request('reload').then(
      () => console.log('a broken configuration was accepted'),
      () => outcomes.refused++,
    )
    await pause(PAUSE_MS)
  }
  return outcomes
}

/** Requests at a fixed rate, whether the ones before have been answered or not. */
function load(clients: readonly TestClient[]): Load {
  const took: number[] = []
  const failures: string[] = []
  const running = new Set<Promise<void>>()
  let sent = 0
  const begun = performance.now()
  const one = async (client: TestClient, upstream: string): Promise<void> => {
    const start = performance.now()
    try {
      const params = { name: `${upstream}__echo`, arguments: { message: 'hi' } }
      const { result, error, status } = await client.request('tools/call', params)
      if (result === undefined || result['isError'] === true)
        failures.push(`${client.era} ${upstream}: ${status} ${JSON.stringify(error ?? result)}`)
    } catch (thrown) {
      failures.push(`${client.era} ${upstream}: ${String(thrown)}`)
    }
    took.push(performance.now() - start)
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1000) * RATE
    for (; sent < due; sent++) {
      const client = clients[sent % clients.length]
      if (client === undefined) continue
      const done = one(client, sent % 3 === 0 ? 'changes' : 'stays').finally(() => running.delete(done))
      running.add(done)
    }
  }, 5)
  const stop = async (): Promise<void> => {
    clearInterval(timer)
    await Promise.all(running)
  }
  return { took, failures, stop }
}

async function startGateway(): Promise<Gateway> {
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, configText(0))
  const environment = { ...process.env, XDG_RUNTIME_DIR: directory, GATEWAY_ENV: '' }
  const child = spawn(process.execPath, [LAUNCHER, 'serve', '-c', file, '--set', 'log.level=info'], {
    env: environment,
  })
  const url = await new Promise<string>((resolve, reject) => {
    let listening = ''
    createInterface({ input: child.stderr }).on('line', line => {
      const { message, url } = JSON.parse(line) as { message: string; url?: string }
      if (message === 'listening') listening = url ?? ''
      if (message === 'serving') resolve(listening)
    })
    child.once('exit', code => reject(new Error(`the gateway ended with ${code}`)))
  })
  const [socket = ''] = await livingSockets({ file, env: '', environment })
  return { child, url, control: await connectControl(socket), file }
}

async function pidOfStaying(control: ControlClient): Promise<number | undefined> {
  const { upstreams } = (await control.request('ps')) as { upstreams: { name: string; pid?: number }[] }
  return upstreams.find(({ name }) => name === 'stays')?.pid
}

async function usage({ pid }: ChildProcess): Promise<{ rss: number; files: number; children: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return {
    rss: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
    files: (await readdir(`/proc/${pid}/fd`)).length,
    children: children.trim().split(/\s+/).length,
  }
}

function times(took: readonly number[]): string {
  const sorted = [...took].sort((a, b) => a - b)
  const at = (share: number): string => `${(sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1)} ms`
  return [at(0.5), at(0.99), at(1)].join(' / ')
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
