/**
 * Shows what a saved catalogue is worth: the time from the start of `gateway serve` with 20 stdio servers to its answer
 * of `tools/list`, and how many processes that starts. Prints its figures; exits with 1 when one is out of bounds.
 *
 *   npm run proof -- cold-start       about a minute; RUNS=9 for more
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LAUNCHER, requireBuild } from '../peers/gateway.ts'
import { prepareRealServers } from '../peers/real-servers.ts'

const RUNS = Number(process.env.RUNS ?? 5)
const SERVERS = 20
const LIMIT_MS = 60_000
const SMALL = fileURLToPath(new URL('../unit/fixtures/servers/keeping-server.mjs', import.meta.url))
const MARK = `COLD_START=${process.pid}`
const INFO = { name: 'proof', version: '1' }
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** One start: how long it took to the list, the list, and how many servers' processes there were then. */
interface Start {
  readonly ms: number
  readonly list: string
  readonly processes: number
  /** Number of different lists that some starts gave. */
  readonly lists?: number
}

requireBuild()
const folder = await mkdtemp(join(tmpdir(), 'proof-cold-start-'))
const real = await prepareRealServers()
try {
  if (!(await prove())) process.exitCode = 1
} finally {
  await real.remove()
  await rm(folder, { recursive: true, force: true })
}

async function prove(): Promise<boolean> {
  const { everything, memory } = real.upstreams as Record<string, { args: string[] }>
  const [onStdio, onHttp] = [
    await configFile('stdio', {}),
    await configFile('http', { main: { type: 'http', port: 0 } }),
  ]
  const stdio = ['serve', '--stdio', '--config', onStdio]
  const http = ['serve', '--config', onHttp]
  const nothing = await several(() => toEnd(['-e', '0']))
  const direct = await several(() => overStdio([...(everything?.args ?? [])]))
  const small = await several(() => overStdio([...(memory?.args ?? [])]))
  const fresh = await several(() => overStdio([LAUNCHER, ...stdio, '--fresh'], SERVERS), Math.min(3, RUNS))
  const saved = await several(() => overStdio([LAUNCHER, ...stdio]))
  await overHttp([LAUNCHER, ...http], SERVERS)
  const savedHttp = await several(() => overHttp([LAUNCHER, ...http]))
  const ratio = (start: Start, to: Start): string =>
    `${Math.round(start.ms)} ms, ×${(start.ms / to.ms).toFixed(2)}`
  console.log(
    `medians of ${RUNS} starts; ${SERVERS} stdio servers, of which server-everything, -filesystem and -memory`,
  )
  const rows: [string, string, boolean][] = [
    ['node -e 0', `${Math.round(nothing.ms)} ms`, true],
    ['server-everything itself, from its start to its list', ratio(direct, nothing) + ' of node', true],
    ['server-memory itself', ratio(small, nothing) + ' of node', true],
    ['gateway serve, nothing saved', `${ratio(fresh, direct)} of server-everything`, true],
    [
      'gateway serve, saved, stdio',
      `${ratio(saved, direct)} of server-everything`,
      saved.ms < 2.5 * direct.ms,
    ],
    ['the same as ratio to node -e 0', ratio(saved, nothing), saved.ms < 5 * nothing.ms],
    [
      'gateway serve, saved, HTTP',
      `${ratio(savedHttp, direct)} of server-everything`,
      savedHttp.ms < 2.5 * direct.ms,
    ],
    [
      'processes started, saved, stdio and HTTP',
      `${saved.processes} and ${savedHttp.processes}`,
      saved.processes + savedHttp.processes === 0,
    ],
    ['processes started, nothing saved', String(fresh.processes), fresh.processes === SERVERS],
    [
      'different lists in all saved starts',
      `${saved.lists} of ${saved.list.length} bytes`,
      saved.lists === 1 && saved.list.includes('"tools":['),
    ],
  ]
  for (const [what, figure, holds] of rows)
    console.log(`${holds ? 'PASS' : 'FAIL'}  ${what.padEnd(56)} ${figure}`)
  return rows.every(([, , holds]) => holds)
}

/** Twenty servers, each with a mark in its environment by which its processes are found. */
async function configFile(name: string, listeners: object): Promise<string> {
  const [key, value] = MARK.split('=') as [string, string]
  const marked = Object.entries(real.upstreams).map(([name, spec]) => {
    const env = { ...(spec as { env?: object }).env, [key]: value }
    return [name, { ...spec, env }]
  })
  const more = Array.from({ length: SERVERS - marked.length }, (_, nth) => [
    `small${nth}`,
    { type: 'stdio', command: process.execPath, args: [SMALL], env: { [key]: value } },
  ])
  const upstreams = Object.fromEntries([...marked, ...more]) as object
  const file = join(folder, `${name}.json`)
  const lists = { grace: '50s', pageSize: 1000 }
  await writeFile(file, JSON.stringify({ version: 1, log: { format: 'json' }, lists, listeners, upstreams }))
  return file
}

/** The median of some starts; of processes the most. */
async function several(run: () => Promise<Start>, times = RUNS): Promise<Start> {
  const starts: Start[] = []
  for (let turn = 0; turn < times; turn++) starts.push(await run())
  starts.sort((a, b) => a.ms - b.ms)
  const median = starts[Math.floor(times / 2)] as Start
  const lists = new Set(starts.map(({ list }) => list)).size
  return { ...median, lists, processes: Math.max(...starts.map(({ processes }) => processes)) }
}

async function toEnd(args: string[]): Promise<Start> {
  const from = performance.now()
  await once(spawn(process.execPath, args, { stdio: 'ignore' }), 'exit')
  return { ms: performance.now() - from, list: '', processes: 0 }
}

function start(args: string[]): ChildProcess {
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), GATEWAY_ENV: '' }
  return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], env })
}

/** Says hello and asks for the list at once, as a client does that starts a server. */
async function overStdio(args: string[], expected = 0): Promise<Start> {
  const from = performance.now()
  const child = start(args)
  const messages = [
    { id: 1, method: 'initialize', params: HELLO },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]
  const listed = found(child, 'stdout', text => /^\{"jsonrpc":"2.0","id":2.*|^\{.*"id":2\}$/m.exec(text)?.[0])
  // A server may end while it is written to; `listed` says so.
  child.stdin?.on('error', () => undefined)
  child.stdin?.write(messages.map(message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
  const list = await listed
  return ended(child, { ms: performance.now() - from, list }, expected)
}

async function overHttp(args: string[], expected = 0): Promise<Start> {
  const from = performance.now()
  const child = start(args)
  const url = await found(child, 'stderr', text => /"url":"(http[^"]+)"/.exec(text)?.[1])
  const method = 'tools/list'
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method, params: { _meta: META } })
  const list = await (await fetch(url, { method: 'POST', headers, body })).text()
  return ended(child, { ms: performance.now() - from, list }, expected)
}

/** Looks a moment longer for processes, then ends it and all it has saved. */
async function ended(child: ChildProcess, so: Omit<Start, 'processes'>, expected: number): Promise<Start> {
  const until = performance.now() + (expected === 0 ? 300 : 3000)
  let processes = 0
  while (performance.now() < until && (expected === 0 || processes < expected)) {
    processes = Math.max(processes, marked())
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  // Some servers change their lists as soon as they have said them.
  if (expected > 0) await new Promise(resolve => setTimeout(resolve, 1500))
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
  return { ...so, processes }
}

function marked(): number {
  const isMarked = (pid: string): boolean => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(MARK)
    } catch {
      return false
    }
  }
  return readdirSync('/proc').filter(isMarked).length
}

function found(
  child: ChildProcess,
  stream: 'stdout' | 'stderr',
  find: (text: string) => string | undefined,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    let errors = ''
    const fail = (why: string): void => reject(new Error(`${child.spawnargs.join(' ')} ${why}:\n${errors}`))
    const timer = setTimeout(() => fail('did not answer in time'), LIMIT_MS)
    child.once('exit', code => fail(`ended with ${String(code)}`))
    child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)))
    child[stream]?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const one = text.includes('\n') ? find(text.slice(0, text.lastIndexOf('\n'))) : undefined
      if (one === undefined) return
      clearTimeout(timer)
      resolve(one)
    })
  })
}
