import { setTimeout as pause } from 'node:timers/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { benchFile, Children } from '../../bench/setup/children.ts'
import { usageOf } from '../../bench/load/usage.ts'
import { undisturbed } from '../../bench/alone/cost.ts'
import { median } from '../../bench/statistics.ts'
import { Redis } from '../../fixtures/redis.ts'
import { drive, type Driven, legacyCall, modernCall, open } from './drive.ts'
import { type Cluster, newKey, startCluster } from './setting.ts'

const LAUNCHER = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
/** Rounds, of which the least disturbed count. */
const ROUNDS = 20
const MS = 1000
/** Time until the code of one replica is compiled; several share the machine. */
const WARM_MS = 4000
/** Sessions of one replica that say nothing. */
export const MEASURED_SESSIONS = 10_000
const OPENED_AT_ONCE = 50
/** Sessions are held every four minutes. */
const IDLE_MS = 245_000
const WRITTEN_MS = 20_000
const STARTS = 10
/** Sessions that calls go round in. */
const SOME = 24
/** Nothing that would be measured beside the road. */
const BARE = { timeout: 0, limits: { concurrency: 0 }, breaker: false, retry: false }

/** What was found, to be written down as it is. */
export interface Figures {
  readonly modernOff: number
  readonly modernOn: number
  readonly legacyHere: number
  readonly legacyHandedOn: number
  readonly bytesEach: number
  /** Bytes that its replica has more in memory for each. */
  readonly memoryEach: number
  readonly idleCommands: number
  readonly startOff: number
  readonly startOn: number
  readonly growth: readonly Growth[]
}

/** One number of replicas: what a call costs all of them together, and what Redis gets. */
export interface Growth {
  readonly replicas: number
  readonly modern: number
  readonly legacy: number
  /** Commands of sessions and of calls, for each thousand calls. */
  readonly modernCommands: number
  readonly legacyCommands: number
}

export async function costs(): Promise<Figures> {
  const children = new Children()
  try {
    const { found } = await children.start(
      [benchFile('peers/server-http.ts')],
      output => /http:\S+/.exec(output)?.[0],
    )
    const upstreams = { web: { type: 'http', url: found, ...BARE } }
    const road = await roads(upstreams)
    console.log(JSON.stringify(road))
    const kept = await sessions(upstreams)
    console.log(JSON.stringify(kept))
    const begun = await starts()
    const growth: Growth[] = []
    for (const replicas of [1, 2, 3]) growth.push(await grown(replicas, upstreams))
    return { ...road, ...kept, ...begun, growth }
  } finally {
    await children.stop()
  }
}

type Roads = Pick<Figures, 'modernOff' | 'modernOn' | 'legacyHere' | 'legacyHandedOn'>

/** The same calls by different roads, in turn, so that a busy machine is as busy for each. */
async function roads(upstreams: object): Promise<Roads> {
  const plain = await startCluster({ count: 1, front: 'none', upstreams, isPlain: true })
  const two = await startCluster({ count: 2, front: 'none', upstreams })
  try {
    const [one, other] = two.replicas.map(({ url }) => url) as [string, string]
    const mine = await Promise.all(Array.from({ length: SOME }, () => open(one)))
    let id = 0
    const calls = (url: string): (() => ReturnType<typeof legacyCall>)[] =>
      mine.map(session => () => legacyCall(url, session, ++id))
    const pids = pidsOf(two)
    const ways: Record<keyof Roads, () => Promise<Driven>> = {
      modernOff: () => drive([() => modernCall(plain.url)], pidsOf(plain), MS),
      modernOn: () => drive([() => modernCall(one)], pids, MS),
      legacyHere: () => drive(calls(one), pids, MS),
      legacyHandedOn: () => drive(calls(other), pids, MS),
    }
    return await interleaved(ways)
  } finally {
    await plain.end()
    await two.end()
  }
}

async function interleaved<K extends string>(
  ways: Readonly<Record<K, () => Promise<Driven>>>,
): Promise<Record<K, number>> {
  const names = Object.keys(ways) as K[]
  const found = new Map<K, number[]>(names.map(name => [name, []]))
  for (let round = -1; round < ROUNDS; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { cpu } = await ways[name]()
      // The first round makes them warm.
      if (round >= 0) found.get(name)?.push(cpu.reduce((sum, one) => sum + one, 0))
    }
  return Object.fromEntries(names.map(name => [name, undisturbed(found.get(name) ?? [])])) as Record<
    K,
    number
  >
}

function pidsOf({ replicas }: Cluster): number[] {
  return replicas.map(({ child }) => child.pid ?? 0)
}

/** Ten thousand sessions of one replica: what Redis keeps of each, and what it is asked while nobody calls. */
async function sessions(
  upstreams: object,
): Promise<Pick<Figures, 'bytesEach' | 'memoryEach' | 'idleCommands'>> {
  const limits = { sessions: 2 * MEASURED_SESSIONS }
  const cluster = await startCluster({ count: 1, front: 'none', upstreams, limits })
  try {
    const { url } = cluster
    const empty = await memoryOf(cluster.redis)
    const [pid = 0] = pidsOf(cluster)
    const before = usageOf(pid)?.rss ?? 0
    for (let opened = 0; opened < MEASURED_SESSIONS; opened += OPENED_AT_ONCE)
      await Promise.all(Array.from({ length: OPENED_AT_ONCE }, () => open(url)))
    const written = await recorded(cluster.redis, MEASURED_SESSIONS)
    const bytesEach = ((await memoryOf(cluster.redis)) - empty) / written
    const memoryEach = (((usageOf(pid)?.rss ?? 0) - before) * 1024 * 1024) / MEASURED_SESSIONS
    const asked = sumOf(await cluster.redis.counts())
    await pause(IDLE_MS)
    const idleCommands = (sumOf(await cluster.redis.counts()) - asked) / (IDLE_MS / 1000)
    return { bytesEach, memoryEach, idleCommands }
  } finally {
    await cluster.end()
  }
}

/** Waits until so many records are written, or a busy machine has had its time. Resolves with how many are. */
async function recorded(redis: Redis, sessions: number): Promise<number> {
  for (const until = performance.now() + WRITTEN_MS; ;) {
    const [, size = '0'] = /:(\d+)/.exec(await redis.ask('DBSIZE')) ?? []
    if (Number(size) >= sessions || performance.now() > until) return Number(size)
    await pause(200)
  }
}

async function memoryOf(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.ask('INFO', 'memory'))?.[1])
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0)
}

/** Milliseconds of processor time until a gateway serves, without and with `cluster`. */
async function starts(): Promise<Pick<Figures, 'startOff' | 'startOn'>> {
  const redis = await Redis.open()
  const directory = await mkdtemp(join(tmpdir(), 'start-'))
  const base = {
    version: 1,
    log: { level: 'info' },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {},
  }
  const cluster = { redis: redis.url, keys: [newKey('a')] }
  const files = { off: join(directory, 'off.json'), on: join(directory, 'on.json') }
  await writeFile(files.off, JSON.stringify(base))
  await writeFile(files.on, JSON.stringify({ ...base, cluster }))
  const found: Record<'off' | 'on', number[]> = { off: [], on: [] }
  try {
    for (let turn = -1; turn < STARTS; turn++)
      for (const name of turn % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
        const micros = await started(files[name])
        if (turn >= 0) found[name].push(micros / 1000)
      }
  } finally {
    await redis.remove()
    await rm(directory, { recursive: true, force: true })
  }
  return { startOff: undisturbed(found.off), startOn: undisturbed(found.on) }
}

async function started(file: string): Promise<number> {
  const child = spawn(process.execPath, [LAUNCHER, 'serve', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const gone = once(child, 'exit')
  await new Promise<void>(resolve => {
    createInterface({ input: child.stderr }).on('line', line => {
      if (line.includes('"serving"')) resolve()
    })
  })
  const micros = usageOf(child.pid ?? 0)?.micros ?? 0
  child.kill('SIGINT')
  await gone
  return micros
}

/** So many replicas, every request at the next one. */
async function grown(count: number, upstreams: object): Promise<Growth> {
  const cluster = await startCluster({ count, front: 'none', upstreams })
  try {
    const urls = cluster.replicas.map(({ url }) => url)
    const mine = await Promise.all(Array.from({ length: SOME }, (_, at) => open(urls[at % count] ?? '')))
    let id = 0
    // One session more than there are lanes, so that each session meets each replica.
    const legacy = Array.from({ length: SOME * count }, (_, at) => () => {
      const session = mine[at % SOME] ?? ''
      return legacyCall(urls[(at + Math.floor(at / SOME)) % count] ?? '', session, ++id)
    })
    const modern = urls.map(url => () => modernCall(url))
    const pids = pidsOf(cluster)
    await drive(modern, pids, count * WARM_MS)
    await drive(legacy, pids, count * WARM_MS)
    const found = { modern: [] as Counted[], legacy: [] as Counted[] }
    for (let round = 0; round < ROUNDS / 2; round++) {
      found.modern.push(await counted(cluster, () => drive(modern, pids, MS)))
      found.legacy.push(await counted(cluster, () => drive(legacy, pids, MS)))
    }
    return {
      replicas: count,
      modern: undisturbed(found.modern.map(({ cpu }) => cpu)),
      legacy: undisturbed(found.legacy.map(({ cpu }) => cpu)),
      modernCommands: median(found.modern.map(({ commands }) => commands)),
      legacyCommands: median(found.legacy.map(({ commands }) => commands)),
    }
  } finally {
    await cluster.end()
  }
}

interface Counted {
  readonly cpu: number
  readonly commands: number
}

async function counted(cluster: Cluster, run: () => Promise<Driven>): Promise<Counted> {
  const before = await ofCalls(cluster.redis)
  const { calls, cpu } = await run()
  const commands = ((await ofCalls(cluster.redis)) - before) / (calls / 1000)
  return { cpu: cpu.reduce((sum, one) => sum + one, 0), commands }
}

/** Without what replicas say of themselves, which they do with or without calls. */
async function ofCalls(redis: Redis): Promise<number> {
  const { get = 0, hmget = 0, hset = 0, pexpire = 0 } = await redis.counts()
  return get + hmget + hset + pexpire
}

export function printFigures({ growth, ...found }: Figures): void {
  const {
    modernOff,
    modernOn,
    legacyHere,
    legacyHandedOn,
    bytesEach,
    memoryEach,
    idleCommands,
    startOff,
    startOn,
  } = found
  const rows: readonly (readonly [string, string])[] = [
    [
      'a modern call, without and with cluster',
      `${us(modernOff)}, ${us(modernOn)} (${ratio(modernOn, modernOff)})`,
    ],
    ['a call in a session, at its replica and at another', `${us(legacyHere)}, ${us(legacyHandedOn)}`],
    ['so a hand-on over TCP, both ends', us(legacyHandedOn - legacyHere)],
    [
      `${MEASURED_SESSIONS} sessions in Redis`,
      `${bytesEach.toFixed(0)} bytes each, and ${memoryEach.toFixed(0)} in its replica; ${idleCommands.toFixed(1)} commands a second while nobody calls`,
    ],
    [
      'processor time until it serves, without and with cluster',
      `${startOff.toFixed(0)} ms, ${startOn.toFixed(0)} ms`,
    ],
  ]
  for (const [name, value] of rows) console.log(`  ${name.padEnd(58)} ${value}`)
  for (const { replicas, modern, legacy, modernCommands, legacyCommands } of growth)
    console.log(
      `  ${replicas} replicas: modern ${us(modern)}, ${modernCommands.toFixed(1)} commands for 1000 calls; in sessions ${us(legacy)}, ${legacyCommands.toFixed(1)} commands`,
    )
}

function us(micros: number): string {
  return `${micros.toFixed(0)} µs`
}

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(3)} ×`
}
