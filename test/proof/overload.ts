// A gateway with a heap of 256 MB under a flood of requests and replies of 2 MB refuses what it has no room for, does not die, and takes calls again; one minute.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const FLOOD_MS = Number(process.env.FLOOD_MS ?? 20_000)
const AT_ONCE = 48
const MIB = 1024 * 1024
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
const LIMITS = { refusalMs: 50, lagP99Ms: 50, lagMaxMs: 200, recoveryMs: 10_000 }
const ROOM = join(import.meta.dirname, 'overload')
/** Plain text costs as much as it is long; small values cost many times that once they are read. */
const FILLINGS = { text: JSON.stringify('x'.repeat(2 * MIB)), values: `[${'{},'.repeat((2 * MIB) / 3)}{}]` }

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'flood', version: '1' } },
})
const PING = '{"jsonrpc":"2.0","id":"after","method":"ping"}'

interface Reply {
  readonly status: number
  readonly after: string | undefined
  readonly session: string | undefined
  readonly ms: number
}

let failures = 0

/** All that the gateway says of itself. */
interface Told {
  readonly slowestMs: number
  /** Times for which its event loop stood still, milliseconds. */
  readonly lagP99: number
  readonly lagMax: number
  readonly rss: number
}

/** A gateway that has died says nothing. */
const DEAD: Told = { slowestMs: Infinity, lagP99: Infinity, lagMax: Infinity, rss: 0 }

/** Those who ask for little meanwhile: one that counts as who floods, and another caller. Linux has every address of 127.0.0.0/8. */
const ADDRESSES = {
  'at the same address': '127.0.0.1',
  ...(process.platform === 'linux' ? { 'at another address': '127.0.0.2' } : {}),
}

/** Times of one of them, from a process of its own; milliseconds. */
interface Beside {
  readonly count: number
  readonly broken: number
  readonly median: number
  readonly p99: number
  readonly max: number
}

/** What came of one flood. */
interface Outcome {
  readonly replies: readonly Reply[]
  readonly told: Told | undefined
  readonly recovery: number
  readonly beside: Readonly<Record<string, Beside>>
}

async function flood(name: string, filling: string): Promise<void> {
  const upstream = new Program('upstream.ts', [])
  const gateway = new Program('gateway.ts', ['--max-old-space-size=256'], await upstream.line())
  const url = await gateway.ask('listen')
  const session = (await post(url, [INITIALIZE])).session ?? ''
  const bystanders = Object.entries(ADDRESSES).map(
    ([where, from]) => [where, new Program('bystander.ts', [], url, session, from)] as const,
  )
  lowered('--idle')
  const replies = await flow(url, session, Buffer.from(`","arguments":{"filling":${filling}}}}`))
  lowered('--other')
  const beside: Record<string, Beside> = {}
  for (const [where, bystander] of bystanders) {
    beside[where] = JSON.parse(await bystander.ask('figures')) as Beside
    await bystander.end()
  }
  const begin = performance.now()
  while (gateway.isAlive && (await post(url, [PING], session)).status !== 200)
    if (performance.now() - begin > 30_000) break
  const recovery = performance.now() - begin
  const told = gateway.isAlive ? (JSON.parse(await gateway.ask('figures')) as Told) : undefined
  report(name, { replies, told, recovery, beside })
  await Promise.all([gateway.end(), upstream.end()])
}

/** Who floods stands for other machines: it takes no CPU that the gateway wants. */
function lowered(policy: string): void {
  if (process.platform === 'linux')
    spawnSync('chrt', ['--all-tasks', policy, '--pid', '0', String(process.pid)])
}

/** A process that is asked and answers line by line. */
class Program {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor(file: string, flags: readonly string[], ...args: string[]) {
    const child = spawn(
      process.execPath,
      [...flags, '--disable-warning=ExperimentalWarning', join(ROOM, file), ...args],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async line(): Promise<string> {
    return String((await this.#lines.next()).value)
  }

  ask(what: string): Promise<string> {
    this.#child.stdin?.write(`${what}\n`)
    return this.line()
  }

  async end(): Promise<void> {
    if (!this.isAlive) return
    this.#child.stdin?.end()
    await once(this.#child, 'exit')
  }
}

async function flow(url: string, session: string, tail: Buffer): Promise<Reply[]> {
  const end = performance.now() + FLOOD_MS
  const replies: Reply[] = []
  let id = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      const head = `{"jsonrpc":"2.0","id":${++id},"method":"tools/call","params":{"name":"web__echo`
      const reply = await post(url, [head, tail], session)
      replies.push(reply)
      if (reply.status !== 200) await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return replies
}

/** Status 0 is a connection that broke. */
function post(url: string, pieces: readonly (Buffer | string)[], session?: string): Promise<Reply> {
  const begin = performance.now()
  const headers = {
    'content-type': 'application/json',
    'content-length': pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0),
    accept: 'application/json, text/event-stream',
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
  }
  return new Promise(resolve => {
    const broken = (): void => {
      resolve({ status: 0, after: undefined, session: undefined, ms: performance.now() - begin })
    }
    const sent = request(url, { method: 'POST', agent, headers }, response => {
      const ms = performance.now() - begin
      const { 'retry-after': after, 'mcp-session-id': own } = response.headers
      response.resume()
      response.on('error', broken)
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, after, session: own as string | undefined, ms })
      })
    })
    sent.on('error', broken)
    for (const piece of pieces) sent.write(piece)
    sent.end()
  })
}

function report(name: string, { replies, told, recovery, beside }: Outcome): void {
  const statuses = Map.groupBy(replies, ({ status }) => status)
  const refused = statuses.get(503) ?? []
  const counts = [...statuses].map(([status, of]) => `${of.length} × ${status || 'cut'}`).join(', ')
  const slowest = Math.max(0, ...refused.map(({ ms }) => ms))
  const { slowestMs, lagP99, lagMax, rss } = told ?? DEAD
  console.log(`2 MB of ${name}: ${counts}`)
  console.log(
    `  refusals: slowest ${slowestMs.toFixed(1)} ms inside, ${slowest.toFixed(0)} ms outside with the wait for the loop`,
  )
  console.log(`  event loop: lag p99 ${lagP99.toFixed(0)} ms, longest ${lagMax.toFixed(0)}`)
  for (const [where, { count, broken, median, p99, max }] of Object.entries(beside))
    console.log(
      `  one who asks for little ${where}: ${count} answers, ${broken} cut, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(0)}, slowest ${max.toFixed(0)}`,
    )
  console.log(
    `  recovery ${recovery.toFixed(0)} ms, ${(rss / MIB).toFixed(0)} MB of memory, ${told === undefined ? 'DIED' : 'alive'}`,
  )
  const holds = [
    slowestMs <= LIMITS.refusalMs,
    lagP99 <= LIMITS.lagP99Ms && lagMax <= LIMITS.lagMaxMs,
    recovery <= LIMITS.recoveryMs,
    refused.every(({ after }) => after !== undefined),
  ]
  if (!holds.every(Boolean)) failures++
}

for (const [name, filling] of Object.entries(FILLINGS)) await flood(name, filling)
agent.destroy()
process.exitCode = failures === 0 ? 0 : 1
