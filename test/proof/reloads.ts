// 100 reloads under 200 requests a second, 50 broken configurations in between: npm run proof -- reloads
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ControlClient } from '../../src/control/client.ts'
import { testClient, type TestClient } from '../../src/testing/index.ts'
import { startGateway, usageOf, type Gateway } from './reloads/gateway.ts'

const RELOADS = Number(process.env['RELOADS'] ?? 100)
const BROKEN = RELOADS / 2
const RATE = 200
/** Time between two changes of the file. */
const PAUSE_MS = Number(process.env['PAUSE_MS'] ?? 120)
const WARM_UP_MS = 5000
const SERVER = fileURLToPath(new URL('../fixtures/bad-server.mjs', import.meta.url))

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

const gateway = await startGateway(configText(0))
const clients = await Promise.all(
  (['legacy', 'legacy', 'modern', 'modern'] as const).map(era => testClient(gateway.url, { era })),
)
try {
  const isFine = await prove(gateway, clients)
  process.exitCode = isFine ? 0 : 1
} finally {
  for (const client of clients) await client.close()
  await gateway.stop()
}

async function prove(gateway: Gateway, clients: readonly TestClient[]): Promise<boolean> {
  const { control, child } = gateway
  const quiet = load(clients)
  await pause(WARM_UP_MS)
  await quiet.stop()
  const pid = await pidOfStaying(control)
  const before = await usageOf(child)

  const busy = load(clients)
  const begun = performance.now()
  const outcomes = await reloads(gateway)
  const seconds = (performance.now() - begun) / 1000
  await busy.stop()
  await pause(1000)
  const after = await usageOf(child)
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

async function reloads(gateway: Gateway): Promise<{ reloaded: number; refused: number }> {
  const outcomes = { reloaded: 0, refused: 0 }
  for (let round = 1; round <= RELOADS; round++) {
    await gateway.reload(configText(round))
    outcomes.reloaded++
    await pause(PAUSE_MS)
    if (round % 2 === 0) continue
    await gateway.reload(BROKEN_TEXTS[Math.floor(round / 2) % BROKEN_TEXTS.length] ?? '').then(
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

async function pidOfStaying(control: ControlClient): Promise<number | undefined> {
  const { upstreams } = (await control.request('ps')) as { upstreams: { name: string; pid?: number }[] }
  return upstreams.find(({ name }) => name === 'stays')?.pid
}

function times(took: readonly number[]): string {
  const sorted = [...took].sort((a, b) => a - b)
  const at = (share: number): string => `${(sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1)} ms`
  return [at(0.5), at(0.99), at(1)].join(' / ')
}
