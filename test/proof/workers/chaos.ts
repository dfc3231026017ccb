import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { connectV1 } from '../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../peers/sdk-v2-client.ts'
import { startGateway, type Proved } from './gateway.ts'

const SERVER = fileURLToPath(new URL('../../fixtures/everything.ts', import.meta.url))
const EACH = 8
const PHASE_MS = 3000
const PATIENCE_MS = 20_000

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
  readonly why: Set<string>
}

/** False when an answer was another's, or more was lost than what was under way at a kill. */
export async function chaos(): Promise<boolean> {
  const gateway = await startGateway(config('none'), 2)
  const counts = new Map<string, Count>()
  const stop = new AbortController()
  const callers = Object.entries(SORTS).flatMap(([sort, connect]) => {
    const count: Count = { calls: 0, mixed: 0, lost: 0, begunAnew: 0, why: new Set() }
    counts.set(sort, count)
    return Array.from({ length: EACH }, (_, n) =>
      callOn(`${sort} ${n}`, () => connect(gateway.url), count, stop.signal),
    )
  })
  await phases(gateway)
  stop.abort()
  await Promise.all(callers)
  const [primary, ...workers] = await gateway.pids()
  const code = await gateway.stop()
  const left = [primary ?? 0, ...workers].filter(isAlive).length
  for (const [sort, { calls, mixed, lost, begunAnew, why }] of counts) {
    console.log(
      `${sort.padEnd(15)} ${EACH} clients, ${calls} answers, ${mixed} mixed up, ${lost} lost, ${begunAnew} sessions begun anew`,
    )
    for (const reason of why) console.log(`    ${reason}`)
  }
  console.log(`stopped with ${String(code)}, ${left} of its processes left`)
  // Each client has at most one call under way at each of the two kills, and may meet its lost session once.
  const isFine = [...counts.values()].every(({ mixed, lost }) => mixed === 0 && lost <= 4 * EACH)
  return isFine && code === 0 && left === 0
}

async function phases(gateway: Proved): Promise<void> {
  const { file, child } = gateway
  await pause(PHASE_MS)
  await kill(gateway, 1)
  await pause(PHASE_MS)
  await writeFile(file, (await readFile(file, 'utf8')).replace('"none"', '"test_vendor"'))
  child.kill('SIGHUP')
  await gateway.logged('configuration reloaded')
  console.log('reloaded')
  await pause(PHASE_MS)
  await kill(gateway, 2)
  await pause(PHASE_MS)
}

async function kill(gateway: Proved, number: number): Promise<void> {
  const pid = (await gateway.pids())[number]
  if (pid === undefined) throw new Error(`there is no worker ${number}`)
  process.kill(pid, 'SIGKILL')
  await gateway.logged('a worker has ended; another process takes its place')
  console.log(`killed worker ${number}`)
}

/** One call after the other, each with words of its own; a client whose session is gone begins anew, as its users do. */
async function callOn(
  who: string,
  connect: () => Promise<Caller>,
  count: Count,
  signal: AbortSignal,
): Promise<void> {
  let client = await connect()
  for (let n = 0; !signal.aborted; n++) {
    const message = `${who} says ${n}`
    try {
      const result = await within(client.callTool({ name: 'test_echo', arguments: { message } }))
      count.calls++
      if (!JSON.stringify(result).includes(`${message}"`)) count.mixed++
    } catch (error) {
      count.lost++
      count.why.add(String(error instanceof Error ? error.message : error).slice(0, 110))
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
      if (tries >= 20) throw error
      await pause(50)
    }
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('no answer came')), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(late))
  })
}

function config(deny: string): object {
  return {
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {
      all: { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'], prefix: '' },
    },
    filters: { tools: { deny: [deny] } },
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
