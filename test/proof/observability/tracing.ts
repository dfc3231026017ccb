/**
 * Callers and their collectors: `npm run proof -- tracing`, about half a minute. The same calls through one gateway without
 * traces and others whose collector is quick, silent or dead, in turns, in one process: processor time of a call – of the
 * thread that carries it, and of all threads –, and the slowest of a hundred. It fails where a collector that is silent or dead costs more than one that is quick.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { ANONYMOUS } from '../../../src/plugin.ts'
import { PipelineGate } from '../../../src/core/gate.ts'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { configOf } from '../../bench/setup/gateways.ts'
import { inMemory } from '../../bench/setup/memory-upstream.ts'

const CALLS = 4000
const ROUNDS = 12
/** Rounds that only warm up. */
const WARM = 3
/** Calls between two pauses, in which batches go out; what they write fits the queue. */
const BETWEEN = 200
const PAUSE_MS = 2
const SPANS_OF_CALL = 2
/** For what was begun to be sent. */
const REST_MS = 150
/** Takes all, in a process of its own. */
const COLLECTOR = `const server = require('node:http').createServer((q, r) => q.resume().on('end', () => r.end('{}')))
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`
/** Room for noise: a machine that does other things is never the same for two. */
const MORE = 2
const TOOLS = 3

interface Figures {
  readonly micros: number[]
  /** Of the thread that carries calls. */
  readonly own: number[]
  readonly slow: number[]
}

const directory = mkdtempSync(join(tmpdir(), 'gateway-tracing-'))
const collector = spawn(process.execPath, ['-e', COLLECTOR], { stdio: ['ignore', 'pipe', 'inherit'] })
const quick = await new Promise<string>(resolve =>
  collector.stdout.once('data', url => resolve(String(url).trim())),
)
const silent = await listening(createServer(request => void request.resume()))

const KINDS: Readonly<Record<string, object>> = {
  'no traces': {},
  'nothing sampled': { tracing: { endpoint: quick, sampler: 'always_off' } },
  'silent collector': { tracing: { endpoint: silent } },
  'dead collector': { tracing: { endpoint: 'http://127.0.0.1:1' } },
  activity: { activity: { file: join(directory, 'activity.db') } },
  // Last, as what it leaves to collect is counted where the next begins.
  'quick collector': { tracing: { endpoint: quick } },
  'the same, gzip': { tracing: { endpoint: quick, compression: 'gzip' } },
}

const found = await measured()
const base = found.get('no traces')
for (const [title, figures] of found) {
  const [own, micros, slow] = [median(figures.own), median(figures.micros), median(figures.slow)]
  const aSpan = (mine: number, bare: readonly number[] = []): string =>
    ((mine - median(bare)) / SPANS_OF_CALL).toFixed(2)
  console.log(
    `${title.padEnd(18)} ${own.toFixed(2)} µs a call (${micros.toFixed(2)} in all threads), p99 ${slow.toFixed(1)} µs; ` +
      `a span ${aSpan(own, base?.own)} µs (${aSpan(micros, base?.micros)})`,
  )
}
const bound = MORE * median(found.get('quick collector')?.slow ?? [])
const isFine = ['silent collector', 'dead collector'].every(
  title => median(found.get(title)?.slow ?? []) <= bound,
)
console.log(isFine ? 'nobody waits for a collector' : 'callers wait for a collector that is not well')
collector.kill('SIGKILL')
rmSync(directory, { recursive: true, force: true })
process.exit(isFine ? 0 : 1)

async function measured(): Promise<Map<string, Figures>> {
  const roads = await Promise.all(
    Object.entries(KINDS).map(async ([title, sections]) => [title, await roadWith(sections)] as const),
  )
  const all = new Map<string, Figures>(roads.map(([title]) => [title, { micros: [], own: [], slow: [] }]))
  for (let round = 0; round < ROUNDS; round++)
    for (const [title, travel] of roads) {
      const { micros, own, slow } = await oneRound(travel)
      if (round < WARM) continue
      all.get(title)?.micros.push(micros)
      all.get(title)?.own.push(own)
      all.get(title)?.slow.push(slow)
    }
  return all
}

async function oneRound(
  travel: () => Promise<unknown>,
): Promise<{ readonly micros: number; readonly own: number; readonly slow: number }> {
  const times: number[] = []
  const before = { process: process.cpuUsage(), thread: process.threadCpuUsage() }
  for (let call = 0; call < CALLS; call++) {
    const began = performance.now()
    await travel()
    times.push(performance.now() - began)
    if (call % BETWEEN === BETWEEN - 1) await passed(PAUSE_MS)
  }
  await passed(REST_MS)
  const [all, thread] = [process.cpuUsage(before.process), process.threadCpuUsage(before.thread)]
  times.sort((a, b) => a - b)
  const perCall = ({ user, system }: typeof all): number => (user + system) / CALLS
  return {
    micros: perCall(all),
    own: perCall(thread),
    slow: (times[Math.floor(CALLS * 0.99)] ?? 0) * 1000,
  }
}

async function roadWith(sections: object): Promise<() => Promise<unknown>> {
  const upstreams = { up: { type: 'http', url: 'http://127.0.0.1:1/mcp', era: 'legacy' } } as const
  const config = { ...configOf({ listener: 'http', upstreams, plugins: 'none' }, directory), ...sections }
  const gateway = await createGateway(config, { plugins: [inMemory(TOOLS)] })
  const gate = new PipelineGate(gateway.generation.graph, { name: 'proof', version: '1' })
  const session = await gate.openSession({
    id: 'proof',
    listener: 'main',
    principal: ANONYMOUS,
    client: {
      info: { name: 'proof', version: '1' },
      capabilities: {},
      version: '2025-11-25',
      era: 'legacy',
      logLevel: undefined,
    },
    notify: () => true,
  })
  const run = (method: string, params: Record<string, unknown>): Promise<unknown> =>
    gate.run(session, { method, params, emit: () => undefined }).answer
  await run('tools/list', {})
  return () => run('tools/call', { name: 'up__small', arguments: {} })
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
