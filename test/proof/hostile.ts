/**
 * Hostile upstreams, hostile clients and a hostile neighbour, one after the other, while a healthy caller goes on:
 * `npm run proof -- hostile`, about 3 minutes. For each of them the longest time that the gateway's event loop stood
 * still, the memory it took over idle, and the healthy caller's p99 beside its quiet figure; and that nothing leaked.
 * The gateway's memory is set up as `gateway up` does it; `MALLOC_ARENA_MAX=0` (or another one) in the environment leaves it alone.
 * Attackers and the hostile HTTP server stand for other machines: on Linux they take no processor that somebody else wants, and
 * send as much as before. A hostile server on a pipe is a neighbour on this machine, and competes.
 * A second healthy caller asks the same server directly, without the gateway: its p99 is what the machine alone costs.
 *
 *   PHASE_MS=3000 npm run proof -- hostile          for a shorter look
 *   npm run proof -- hostile floods unread          only these, by mode or attack
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { makeKey } from '../../src/cli/scaffold/new-key.ts'
import { mallocVariables } from '../../src/util/process/malloc.ts'
import { firstMatch } from './bulkheads/first-match.ts'
import { load, type Outcome } from './bulkheads/load.ts'
import type { Tally } from './hostile/attacker.ts'
import type { Probe } from './hostile/probe.ts'

const ROOT = join(import.meta.dirname, '../..')
const ROOM = join(import.meta.dirname, 'hostile')
const PHASE_MS = Number(process.env.PHASE_MS ?? 8000)
/** Runs a program while no other wants a processor. */
const ELSEWHERE = process.platform === 'linux' ? ['chrt', '--idle', '0'] : []
/** For what an attack has left behind: deadlines, backlogs, garbage. */
const REST_MS = 4000
const PER_SECOND = 20
const MOST_LAG_MS = 200
const MOST_BYTES = 300 * 2 ** 20
const TARGETS = ['http__echo', 'pipe__echo', 'file:///public/one']

interface Phase {
  readonly title: string
  /** The way the hostile servers behave meanwhile. */
  readonly mode?: string
  readonly attack: string
}

const PHASES: readonly Phase[] = [
  { title: 'upstream: templates of 120 kB', mode: 'templates', attack: 'reads' },
  { title: 'upstream: floods of notifications', mode: 'floods', attack: 'calls' },
  { title: 'upstream: deep, broken, endless JSON', mode: 'json', attack: 'calls' },
  { title: 'upstream: endless lists', mode: 'lists', attack: 'lists' },
  { title: 'upstream: errors that quote secrets', mode: 'quoting', attack: 'calls' },
  { title: 'client: 100 connections that read nothing', attack: 'unread' },
  { title: 'client: bombs of 4 MB', attack: 'bombs' },
  { title: 'client: sessions that are left behind', attack: 'churn' },
  { title: 'client: spellings of a denied resource', attack: 'spellings' },
  { title: 'neighbour: 200 calls at a server of 8 places', attack: 'crowd' },
]

const directory = mkdtempSync(join(tmpdir(), 'gateway-hostile-'))
const children: ChildProcess[] = []
const file = join(directory, 'mode')
const healthy = makeKey('healthy', [])
const attacker = makeKey('attacker', [])
const HEALTHY = { authorization: `Bearer ${healthy.key}` }
let isFine = true
/** The server of the healthy caller, without the gateway. */
let direct = ''
try {
  await prove()
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}
console.log(isFine ? '\nevery line holds' : '\nNOT every line holds')
process.exit(isFine ? 0 : 1)

async function prove(): Promise<void> {
  writeFileSync(file, 'well')
  const url = await gateway()
  await load(url, TARGETS, PER_SECOND, PHASE_MS / 2, HEALTHY)
  await probeOf(url)
  const quiet = await healthyFor(url, PHASE_MS)
  const idle = await probeOf(url)
  const most = Math.max(2 * quiet.p99, 20)
  console.log(
    `load average ${loadavg()
      .map(one => one.toFixed(1))
      .join(
        ' ',
      )} · quiet: p50 ${quiet.p50.toFixed(1)} ms, p99 ${quiet.p99.toFixed(1)} ms, lag ${idle.lag.toFixed(0)} ms, p99 of the loop's work ${p99(idle.calls).toFixed(1)} ms, ` +
      `${mib(idle.rss)} MiB; a healthy caller's p99 may be ${most.toFixed(1)} ms\n`,
  )
  for (const phase of wanted()) {
    writeFileSync(file, phase.mode ?? 'well')
    await refresh(url)
    const found = await underAttack(url, phase)
    const { figures, alone, tally, lag, work, rss, heap, external, collection, calls } = found
    const grown = rss - idle.rss
    const holds =
      lag <= MOST_LAG_MS &&
      grown <= MOST_BYTES &&
      figures.p99 <= most &&
      figures.failed === 0 &&
      tally.leaks === 0
    isFine &&= holds
    console.log(
      `${phase.title.padEnd(46)} lag ${lag.toFixed(0).padStart(4)} ms (own work ${work.toFixed(0)}, collections ${collection.toFixed(0)}) · ` +
        `+${mib(grown).padStart(4)} MiB (heap ${mib(heap)}, messages ${mib(external)}) · healthy p50 ` +
        `${figures.p50.toFixed(1).padStart(5)} p99 ${figures.p99.toFixed(1).padStart(6)} ms (p99 of the loop's work meanwhile ${p99(calls).toFixed(1)}, direct p99 ` +
        `${alone.p99.toFixed(1).padStart(6)}), ${figures.failed} of ${figures.count} failed · ${tally.sent} sent ${JSON.stringify(tally.answers)}, ${tally.leaks} leaked · ` +
        (holds ? 'holds' : 'DOES NOT HOLD'),
    )
    writeFileSync(file, 'well')
    await passed(REST_MS)
  }
}

function wanted(): readonly Phase[] {
  const names = process.argv.slice(2)
  return names.length === 0 ? PHASES : PHASES.filter(({ mode, attack }) => names.includes(mode ?? attack))
}

/** Asks for the lists anew, as the hostile servers may list something else now. */
async function refresh(url: string): Promise<void> {
  await load(url, ['tools/list', 'resources/templates/list'], 1, 1000, HEALTHY)
}

async function underAttack(
  url: string,
  { attack }: Phase,
): Promise<Probe & { figures: Figures; alone: Figures; tally: Tally }> {
  const most = { lag: 0, work: 0, rss: 0, heap: 0, external: 0, collection: 0 }
  const calls: number[] = []
  await probeOf(url)
  const look = async (): Promise<void> => {
    const found = await probeOf(url)
    for (const name of ['lag', 'work', 'rss', 'heap', 'external', 'collection'] as const)
      most[name] = Math.max(most[name], found[name])
    calls.push(...found.calls)
  }
  const timer = setInterval(() => void look().catch(() => undefined), 250)
  const [tally, figures, alone] = await Promise.all([
    tallyOf(attack, url),
    healthyFor(url, PHASE_MS),
    healthyFor(direct, PHASE_MS, ['echo']),
  ])
  clearInterval(timer)
  await look()
  return { figures, alone, tally, ...most, calls }
}

async function tallyOf(attack: string, url: string): Promise<Tally> {
  const args = [join(ROOM, 'attacker.ts'), attack, url, attacker.key, String(PHASE_MS)]
  const child = start(args, 'pipe', {}, ELSEWHERE)
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await new Promise(resolve => child.once('exit', resolve))
  return JSON.parse(text) as Tally
}

interface Figures {
  readonly p50: number
  readonly p99: number
  readonly count: number
  readonly failed: number
}

async function healthyFor(url: string, ms: number, targets = TARGETS): Promise<Figures> {
  const outcomes: Outcome[] = await load(url, targets, PER_SECOND, ms, HEALTHY)
  const times = outcomes.map(outcome => outcome.ms)
  const failed = outcomes.filter(({ kind }) => kind !== 'result')
  if (failed.length > 0)
    console.log(`  failed: ${[...new Set(failed.map(({ target, kind }) => `${target} ${kind}`))].join(', ')}`)
  return { p50: part(times, 0.5), p99: part(times, 0.99), count: times.length, failed: failed.length }
}

function p99(times: readonly number[]): number {
  return part(times, 0.99)
}

/** The time that this part of all does not exceed. */
function part(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

async function probeOf(url: string): Promise<Probe> {
  const response = await fetch(new URL('/probe', url), { signal: AbortSignal.timeout(10_000) })
  return (await response.json()) as Probe
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}

async function gateway(): Promise<string> {
  const stdio = (script: string, ...args: string[]): object => ({
    type: 'stdio',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(ROOM, script), ...args],
    era: 'legacy',
  })
  const over = async (script: string, args: string[], wrapper: readonly string[] = []): Promise<string> =>
    firstMatch(start([join(ROOM, script), ...args], 'pipe', {}, wrapper), 'stdout', /http:\S+/)
  direct = await over('honest.ts', ['http'])
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    auth: {
      keys: [healthy, attacker].map(({ name, hash }) => ({ name, hash })),
      except: ['/probe'],
    },
    filters: { resources: { deny: ['file:///secret/**'] } },
    cache: { lists: '1s', resources: '0s' },
    log: { level: 'info', format: 'json' },
    plugins: { probe: { use: join(ROOM, 'probe.ts') } },
    upstreams: {
      http: { type: 'http', url: direct, era: 'legacy' },
      // The healthy caller has a server of its own: what another one needs to write megabytes is not the gateway's.
      big: { type: 'http', url: await over('honest.ts', ['http']), era: 'legacy' },
      pipe: { ...stdio('honest.ts', 'stdio'), limits: { concurrency: 8 } },
      evil: {
        type: 'http',
        url: await over('evil.ts', [file, 'http'], ELSEWHERE),
        era: 'legacy',
        headers: { authorization: 'Bearer operator-credential-0123456789' },
      },
      evilpipe: stdio('evil.ts', file, 'stdio'),
    },
  }
  const path = join(directory, 'gateway.yaml')
  writeFileSync(path, JSON.stringify(config))
  const child = start([join(ROOT, 'bin/run.js'), 'serve', '-c', path], 'ignore', mallocVariables(process.env))
  return firstMatch(child, 'stderr', /http:\/\/127\.0\.0\.1:\d+\/mcp/)
}

function start(
  args: readonly string[],
  stdout: 'pipe' | 'ignore',
  variables: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): ChildProcess {
  const [command = '', ...all] = [
    ...wrapper,
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    ...args,
  ]
  const child = spawn(command, all, {
    stdio: ['ignore', stdout, 'pipe'],
    cwd: directory,
    env: { ...process.env, ...variables },
  })
  child.stderr?.resume()
  children.push(child)
  return child
}
