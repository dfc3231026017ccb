import { setTimeout as pause } from 'node:timers/promises'
import { once } from 'node:events'
import { connectV2 } from '../../peers/sdk-v2-client.ts'
import { EACH, printCounts, startCallers } from './callers.ts'
import { end } from './balancer.ts'
import { type Cluster, newKey, type Replica, startCluster } from './setting.ts'

const PHASE_MS = 4000
const LEASE_OUT_MS = 9000
const SLOW_MS = 200
const QUIET_CALLS = 20

/** Something that happens under load. */
interface Phase {
  readonly name: string
  /** Most calls that each client may lose, and each modern one. */
  readonly mayLose: number
  readonly modernMayLose: number
  run(cluster: Cluster): Promise<void>
}

const PHASES: readonly Phase[] = [
  { name: 'steady', mayLose: 0, modernMayLose: 0, run: () => pause(PHASE_MS) },
  { name: 'kill -9 of a replica', mayLose: 1, modernMayLose: 1, run: cluster => killed(cluster, 0) },
  { name: 'kill -9 of another', mayLose: 1, modernMayLose: 1, run: cluster => killed(cluster, 1) },
  { name: 'SIGSTOP of a replica until its lease is out, SIGCONT', mayLose: 3, modernMayLose: 3, run: slept },
  { name: 'partition: one replica loses Redis', mayLose: 2, modernMayLose: 0, run: parted },
  { name: 'Redis restarted, empty', mayLose: 1, modernMayLose: 0, run: restarted },
  { name: 'Redis slow: 200 ms a command', mayLose: 1, modernMayLose: 0, run: slowed },
  { name: 'Redis stopped for 10 s', mayLose: 1, modernMayLose: 0, run: stopped },
  { name: 'keys rotated: a second one is added, then put first', mayLose: 0, modernMayLose: 0, run: rotated },
  { name: 'keys rotated: the first one is taken out', mayLose: 0, modernMayLose: 0, run: forgotten },
  { name: 'rolling restart of all (SIGTERM, start)', mayLose: 0, modernMayLose: 0, run: rolled },
]

/** False when an answer was another's, or more was lost than may be. */
export async function chaos(wanted: string): Promise<boolean> {
  const cluster = await startCluster(3)
  let isFine = true
  try {
    for (const phase of PHASES.filter(({ name }) => name.includes(wanted)))
      isFine = (await under(cluster, phase)) && isFine
    isFine = (await isFree(cluster)) && isFine
    isFine = (await isGuarded(cluster)) && isFine
  } finally {
    await cluster.end()
  }
  return isFine
}

async function under(cluster: Cluster, { name, mayLose, modernMayLose, run }: Phase): Promise<boolean> {
  const callers = startCallers(cluster.url, why => /not found|no answer/i.test(why))
  await pause(1000)
  await run(cluster)
  const counts = await callers.stop()
  console.log(`\n${name}`)
  printCounts(counts)
  const isFine = [...counts].every(([sort, { mixed, lost }]) => {
    const most = sort.endsWith('modern') ? modernMayLose : mayLose
    return mixed === 0 && lost <= most * EACH
  })
  if (!isFine) console.log('  MORE than may be')
  return isFine
}

/** Calls of modern clients, and what Redis hears meanwhile beside what replicas say of themselves. */
async function isFree({ redis, replicas }: Cluster): Promise<boolean> {
  const clients = await Promise.all(replicas.map(({ url }) => connectV2({ url }, 'modern')))
  const call = { name: 'test_echo', arguments: { message: 'x' } }
  for (const client of clients) await client.callTool(call)
  const ofSessions = async (): Promise<number> => {
    // Leases are renewed with or without calls, and are counted apart.
    const { get = 0, set = 0 } = await redis.counts()
    return get + set
  }
  const before = await ofSessions()
  for (let n = 0; n < QUIET_CALLS; n++) await Promise.all(clients.map(client => client.callTool(call)))
  const asked = (await ofSessions()) - before
  for (const client of clients) await client.close().catch(() => undefined)
  console.log(`\n${QUIET_CALLS * clients.length} modern calls: ${asked} commands about sessions`)
  return asked === 0
}

/** Hand-ons without a proof, and with one that nobody of ours has made. */
async function isGuarded({ replicas: [first] }: Cluster): Promise<boolean> {
  const vouchers = [undefined, '', 'v1.a.x.e30', `v1.a.${'A'.repeat(43)}.e30`]
  const statuses: number[] = []
  for (const voucher of vouchers) {
    const headers = {
      'content-type': 'application/json',
      ...(voucher === undefined ? {} : { 'x-tapgate-handed': voucher }),
    }
    const answer = await fetch(`http://127.0.0.1:${first?.entrance ?? 0}/mcp`, {
      method: 'POST',
      headers,
      body: '{}',
    })
    statuses.push(answer.status)
  }
  console.log(`\n${vouchers.length} forged hand-ons: answered ${statuses.join(', ')}`)
  return statuses.every(status => status === 403)
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

async function slept({ replicas }: Cluster): Promise<void> {
  const third = last(replicas)
  third.child.kill('SIGSTOP')
  await pause(LEASE_OUT_MS)
  third.child.kill('SIGCONT')
  await pause(PHASE_MS)
}

async function parted({ replicas }: Cluster): Promise<void> {
  const { relay } = last(replicas)
  relay.cut()
  await pause(LEASE_OUT_MS)
  relay.heal()
  await pause(PHASE_MS)
}

async function restarted({ redis }: Cluster): Promise<void> {
  await redis.stop()
  await pause(2000)
  await redis.start()
  await pause(PHASE_MS)
}

async function slowed({ replicas }: Cluster): Promise<void> {
  for (const { relay } of replicas) relay.slow(SLOW_MS)
  await pause(PHASE_MS)
  for (const { relay } of replicas) relay.slow(0)
  await pause(PHASE_MS)
}

async function stopped({ redis }: Cluster): Promise<void> {
  redis.signal('SIGSTOP')
  await pause(10_000)
  redis.signal('SIGCONT')
  await pause(PHASE_MS)
}

const NEXT = newKey('b')

/** The new key is taken everywhere before anything is made with it. */
async function rotated(cluster: Cluster): Promise<void> {
  for (const keys of [
    [cluster.key, NEXT],
    [NEXT, cluster.key],
  ]) {
    await cluster.withKeys(keys)
    await pause(PHASE_MS)
  }
}

/** The sessions of this phase were begun with the new key. */
async function forgotten(cluster: Cluster): Promise<void> {
  await cluster.withKeys([NEXT])
  await pause(PHASE_MS)
}

async function rolled(cluster: Cluster): Promise<void> {
  for (const [index, { child }] of cluster.replicas.entries()) {
    await end(child, 'SIGTERM')
    await cluster.replace(index)
    await pause(PHASE_MS)
  }
}

function last(replicas: readonly Replica[]): Replica {
  const found = replicas.at(-1)
  if (found === undefined) throw new Error('there is no replica')
  return found
}
