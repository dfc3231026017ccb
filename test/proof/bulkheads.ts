/**
 * One upstream of five turned slow, hung, dead and flapping, under load: `npm run proof -- bulkheads`. What the other four
 * answer must take no longer than in quiet times (p99 within +20 % or +5 ms), lists and discover included, and every
 * call must end once, in time, with a result or an error that says why. Once with a victim on HTTP, once on stdio.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstMatch } from './bulkheads/first-match.ts'
import { load, type Outcome } from './bulkheads/load.ts'

const ROOT = join(import.meta.dirname, '../..')
const SERVER = join(import.meta.dirname, 'bulkheads/moody-server.ts')
const MOODS = ['well', 'slow', 'hung', 'dead', 'flapping'] as const
const PHASE_MS = Number(process.env.PHASE_MS ?? 8000)
const WARM_MS = PHASE_MS / 2
const PER_SECOND = Number(process.env.PER_SECOND ?? 25)
const TIMEOUT_MS = 4000
/** All that a timer and a busy machine may add to a deadline. */
const SLACK_MS = 250
const LISTS = ['tools/list', 'server/discover']

const BULKHEAD = {
  era: 'legacy',
  timeout: TIMEOUT_MS,
  limits: { concurrency: 32, queue: 64 },
  breaker: { latency: '1s', open: '1s' },
}

type Transport = 'http' | 'stdio'
interface Server {
  readonly name: string
  readonly transport: Transport
  readonly file: string
}

const directory = mkdtempSync(join(tmpdir(), 'gateway-proof-'))
const children: ChildProcess[] = []
let isFine = true
try {
  for (const transport of ['http', 'stdio'] as const) isFine = (await prove(transport)) && isFine
} finally {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}
console.log(isFine ? '\nevery line holds' : '\nNOT every line holds')
process.exit(isFine ? 0 : 1)

async function prove(transport: Transport): Promise<boolean> {
  const servers = (['http', 'http', 'http', 'stdio', 'stdio'] as const).map((kind, index) => {
    const name = `${kind}-${index + 1}`
    return { name, transport: kind, file: join(directory, `${transport}-${name}`) }
  })
  const victim = servers.find(server => server.transport === transport)
  if (victim === undefined) throw new Error(transport)
  for (const { file } of servers) writeFileSync(file, 'well')
  const url = await gatewayBefore(servers)
  const targets = [...servers.map(({ name }) => `${name}__echo`), ...LISTS]
  await load(url, targets, PER_SECOND, WARM_MS)
  console.log(`\nthe victim is ${victim.name}; ${PER_SECOND} requests/s to each of ${targets.join(', ')}`)
  let quiet: Figures | undefined
  let holds = true
  for (const mood of MOODS) {
    writeFileSync(victim.file, mood)
    const figures = figuresOf(await load(url, targets, PER_SECOND, PHASE_MS), victim)
    quiet ??= figures
    holds = report(mood, figures, quiet) && holds
  }
  for (const child of children.splice(0)) await ended(child)
  return holds
}

async function gatewayBefore(servers: readonly Server[]): Promise<string> {
  const upstreams: Record<string, object> = {}
  for (const server of servers) upstreams[server.name] = { ...(await specOf(server)), ...BULKHEAD }
  const file = join(directory, 'gateway.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      lists: { grace: '1s', wait: '250ms' },
      cache: false,
      log: { level: 'info', format: 'json' },
      upstreams,
    }),
  )
  const gateway = start([join(ROOT, 'bin/run.js'), 'serve', '-c', file], ['ignore', 'ignore', 'pipe'])
  const text = await firstMatch(gateway, 'stderr', /http:\/\/127\.0\.0\.1:\d+\/mcp/)
  return text
}

async function specOf({ transport, file }: Server): Promise<object> {
  if (transport === 'stdio')
    return { type: 'stdio', command: process.execPath, args: [SERVER, file, 'stdio'] }
  const child = start([SERVER, file, '0'], ['ignore', 'pipe', 'inherit', 'ipc'])
  return { type: 'http', url: await firstMatch(child, 'stdout', /http:\S+/) }
}

function start(args: readonly string[], stdio: ('ignore' | 'pipe' | 'inherit' | 'ipc')[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio, cwd: directory })
  children.push(child)
  return child
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), 3000).unref()
  })
}

interface Figures {
  readonly others: readonly number[]
  readonly lists: readonly number[]
  readonly victim: readonly number[]
  readonly kinds: string
  readonly late: number
  readonly lost: number
  readonly failedOthers: number
}

function figuresOf(outcomes: readonly Outcome[], victim: Server): Figures {
  const own = outcomes.filter(({ target }) => target.startsWith(victim.name))
  const lists = outcomes.filter(({ target }) => LISTS.includes(target))
  const others = outcomes.filter(outcome => !own.includes(outcome) && !lists.includes(outcome))
  const kinds = Object.entries(Object.groupBy(own, ({ kind }) => kind))
  return {
    others: sorted(others),
    lists: sorted(lists),
    victim: sorted(own),
    kinds: kinds.map(([kind, all]) => `${all?.length ?? 0} ${kind}`).join(', '),
    late: outcomes.filter(({ ms }) => ms > TIMEOUT_MS + SLACK_MS).length,
    lost: outcomes.filter(({ kind }) => kind === 'none' || kind.startsWith('an error')).length,
    failedOthers: [...others, ...lists].filter(({ kind }) => kind !== 'result').length,
  }
}

function sorted(outcomes: readonly Outcome[]): number[] {
  return outcomes.map(({ ms }) => ms).sort((one, other) => one - other)
}

function quantile(values: readonly number[], share: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}

function report(mood: string, figures: Figures, quiet: Figures): boolean {
  const p99 = quantile(figures.others, 0.99)
  const quietP99 = quantile(quiet.others, 0.99)
  const isQuick = p99 <= Math.max(quietP99 * 1.2, quietP99 + 5)
  const isWhole = figures.late === 0 && figures.lost === 0 && figures.failedOthers === 0
  const [median, tail] = [quantile(figures.others, 0.5), p99].map(ms => ms.toFixed(1).padStart(6))
  const lists = [0.5, 0.99].map(share => quantile(figures.lists, share).toFixed(0).padStart(4))
  const own = [0.5, 0.99].map(share => quantile(figures.victim, share).toFixed(0).padStart(5))
  console.log(
    `${mood.padEnd(9)} others p50 ${median} p99 ${tail} ms · lists p50 ${lists[0]} p99 ${lists[1]} ms · ` +
      `victim p50 ${own[0]} p99 ${own[1]} ms: ${figures.kinds} · ` +
      `late ${figures.late}, lost ${figures.lost}, others failed ${figures.failedOthers} · ${isQuick && isWhole ? 'holds' : 'DOES NOT HOLD'}`,
  )
  return isQuick && isWhole
}
