import { once } from 'node:events'
import { connectV1 } from '../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../peers/sdk-v2-client.ts'
import { type Cluster, pause, startCluster } from './setting.ts'

const EACH = 8
const PHASE_MS = 4000
const LEASE_OUT_MS = 9000
const PATIENCE_MS = 20_000
const QUIET_CALLS = 20

interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const SORTS: Readonly<Record<string, (url: string) => Promise<Caller>>> = {
  'SDK v1': url => connectV1({ url }),
  'SDK v2, legacy': url => connectV2({ url }, 'legacy'),
  'SDK v2, modern': url => connectV2({ url }, 'modern'),
}

interface Count {
  calls: number
  mixed: number
  lost: number
  begunAnew: number
  /** Milliseconds of calls that came to an answer. */
  readonly took: number[]
  readonly why: Map<string, number>
}

/** Something that happens under load. What may be lost in it: so many calls of each client. */
interface Phase {
  readonly name: string
  readonly mayLose: number
  run(cluster: Cluster): Promise<void>
}

const PHASES: readonly Phase[] = [
  { name: 'steady', mayLose: 0, run: () => pause(PHASE_MS) },
  { name: 'kill -9 of a replica', mayLose: 1, run: cluster => killed(cluster, 0) },
  { name: 'kill -9 of another', mayLose: 1, run: cluster => killed(cluster, 1) },
  { name: 'SIGSTOP of a replica until its lease is out, SIGCONT', mayLose: 3, run: slept },
  { name: 'Redis restarted, empty', mayLose: 1, run: restarted },
  { name: 'one replica stopped (SIGTERM) and started', mayLose: 1, run: cluster => rolled(cluster, 2) },
]

/** False when an answer was another's, or more was lost than may be. */
export async function chaos(): Promise<boolean> {
  const cluster = await startCluster(3)
  let isFine = true
  try {
    for (const phase of PHASES) isFine = (await under(cluster, phase)) && isFine
    isFine = (await isFree(cluster)) && isFine
  } finally {
    await cluster.end()
  }
  return isFine
}

async function under(cluster: Cluster, { name, mayLose, run }: Phase): Promise<boolean> {
  const stop = new AbortController()
  const counts = new Map<string, Count>()
  const callers = Object.entries(SORTS).flatMap(([sort, connect]) => {
    const count: Count = { calls: 0, mixed: 0, lost: 0, begunAnew: 0, took: [], why: new Map() }
    counts.set(sort, count)
    return Array.from({ length: EACH }, (_, n) =>
      callOn(`${sort} ${n}`, () => connect(cluster.url), count, stop.signal),
    )
  })
  await pause(1000)
  await run(cluster)
  stop.abort()
  await Promise.all(callers)
  console.log(`\n${name}`)
  for (const [sort, { calls, mixed, lost, begunAnew, took, why }] of counts) {
    const sorted = took.sort((one, other) => one - other)
    const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0)
    const waits = `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(0.99999)} ms`
    const what = `${calls} answers, ${mixed} mixed up, ${lost} lost, ${begunAnew} begun anew`
    console.log(`  ${sort.padEnd(15)} ${EACH} clients, ${what}; ${waits}`)
    for (const [reason, times] of why) console.log(`      ${times} × ${reason}`)
  }
  return [...counts.values()].every(({ mixed, lost }) => mixed === 0 && lost <= mayLose * EACH)
}

/** Calls of modern clients, and what Redis hears meanwhile beside what replicas say of themselves. */
async function isFree({ redis, replicas }: Cluster): Promise<boolean> {
  const clients = await Promise.all(replicas.map(({ url }) => connectV2({ url }, 'modern')))
  const call = { name: 'test_echo', arguments: { message: 'x' } }
  for (const client of clients) await client.callTool(call)
  const ofSessions = async (): Promise<number> => {
    // Those of a look-up, of a record and of an adoption; leases are renewed with or without calls.
    const { hmget = 0, hset = 0 } = await redis.counts()
    return hmget + hset
  }
  const before = await ofSessions()
  for (let n = 0; n < QUIET_CALLS; n++) await Promise.all(clients.map(client => client.callTool(call)))
  const asked = (await ofSessions()) - before
  for (const client of clients) await client.close().catch(() => undefined)
  console.log(`\n${QUIET_CALLS * clients.length} modern calls: ${asked} commands about sessions`)
  return asked === 0
}

async function killed(cluster: Cluster, index: number): Promise<void> {
  const child = cluster.replicas[index]?.child
  if (child === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  await pause(PHASE_MS)
  await cluster.replace(index)
  await pause(PHASE_MS)
}

async function slept({ replicas: [, , third] }: Cluster): Promise<void> {
  third?.child.kill('SIGSTOP')
  await pause(LEASE_OUT_MS)
  third?.child.kill('SIGCONT')
  await pause(PHASE_MS)
}

async function restarted({ redis }: Cluster): Promise<void> {
  await redis.stop()
  await pause(2000)
  await redis.start()
  await pause(PHASE_MS)
}

async function rolled(cluster: Cluster, index: number): Promise<void> {
  const child = cluster.replicas[index]?.child
  if (child === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  await cluster.replace(index)
  await pause(PHASE_MS)
}

/** One call after the other, each with words of its own. A session that is gone (404) is begun anew, all else is asked again in it. */
async function callOn(
  who: string,
  connect: () => Promise<Caller>,
  count: Count,
  signal: AbortSignal,
): Promise<void> {
  let client = await again(connect)
  for (let n = 0; !signal.aborted; n++) {
    const message = `${who} says ${n}`
    const began = performance.now()
    try {
      const result = await within(client.callTool({ name: 'test_echo', arguments: { message } }))
      count.calls++
      count.took.push(performance.now() - began)
      if (!JSON.stringify(result).includes(`${message}"`)) count.mixed++
    } catch (error) {
      const why = String(error instanceof Error ? error.message : error).slice(0, 120)
      count.lost++
      count.why.set(why, (count.why.get(why) ?? 0) + 1)
      await pause(200)
      if (!/not found|no answer/i.test(why)) continue
      await client.close().catch(() => undefined)
      client = await again(connect)
      count.begunAnew++
    }
  }
  await client.close().catch(() => undefined)
}

async function again(connect: () => Promise<Caller>): Promise<Caller> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect()
    } catch (error) {
      if (tries >= 50) throw error
      await pause(200)
    }
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('no answer came')), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(late))
  })
}
