/**
 * Callers and their collectors: `npm run proof -- tracing`, about half a minute. The same calls through one gateway without
 * traces and others whose collector is quick, silent or dead, in turns, in one process: processor time of a call, and the
 * slowest of a hundred. It fails where a collector that is silent or dead costs more than one that is quick.
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
/** Calls between two turns of the event loop. */
const BETWEEN = 500
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
}

const found = await measured()
const base = found.get('no traces')
for (const [title, figures] of found) {
  const micros = median(figures.micros)
  const spans =
    title === 'quick collector'
      ? `, ${((micros - median(base?.micros ?? [])) / SPANS_OF_CALL).toFixed(2)} µs a span`
      : ''
  console.log(
    `${title.padEnd(18)} ${micros.toFixed(2)} µs a call, p99 ${median(figures.slow).toFixed(1)} µs${spans}`,
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
  const all = new Map<string, Figures>(roads.map(([title]) => [title, { micros: [], slow: [] }]))
  for (let round = 0; round < ROUNDS; round++)
    for (const [title, travel] of roads) {
      const { micros, slow } = await oneRound(travel)
      if (round < WARM) continue
      all.get(title)?.micros.push(micros)
      all.get(title)?.slow.push(slow)
    }
  return all
}

async function oneRound(
  travel: () => Promise<unknown>,
): Promise<{ readonly micros: number; readonly slow: number }> {
  const times: number[] = []
  const before = process.cpuUsage()
  for (let call = 0; call < CALLS; call++) {
    const began = performance.now()
    await travel()
    times.push(performance.now() - began)
    if (call % BETWEEN === BETWEEN - 1) await new Promise(resolve => setImmediate(resolve))
  }
  await passed(REST_MS)
  const { user, system } = process.cpuUsage(before)
  times.sort((a, b) => a - b)
  return { micros: (user + system) / CALLS, slow: (times[Math.floor(CALLS * 0.99)] ?? 0) * 1000 }
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
