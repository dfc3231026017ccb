/** Cost of audit and metrics for a call: the same path without and with them, in turns. No I/O but the audit's own file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PipelineGate } from '../../../src/core/gate.ts'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.ts'
import { ANONYMOUS, type Gate, type JsonObject, type Session } from '../../../src/plugin.ts'
import { inMemory } from '../../bench/setup/memory-upstream.ts'
import { microsOf } from '../../bench/stopwatch.ts'

const ROUNDS = 5
const MS = 100
const CALL = { name: 'up__small', arguments: { path: 'src/index.ts', query: 'hello', limit: 10 } }
const CLIENT = {
  info: { name: 'bench', version: '1' },
  capabilities: {},
  version: '2025-11-25',
  era: 'legacy',
  logLevel: undefined,
} as const

const directory = await mkdtemp(join(tmpdir(), 'observe-'))
const subjects: readonly (readonly [string, JsonObject])[] = [
  ['neither', {}],
  ['metrics', { metrics: {} }],
  ['audit to a file', { audit: { file: 'plain.jsonl' } }],
  ['audit with a chain', { audit: { file: 'chain.jsonl', chain: true } }],
  ['both', { metrics: {}, audit: { file: 'both.jsonl' } }],
]
const roads = await Promise.all(
  subjects.map(async ([title, config]) => ({ title, ...(await roadOf(config)) })),
)
const figures = new Map<string, number[]>()
for (let round = 0; round < ROUNDS; round++) {
  for (const { title, travel } of roads) {
    const micros = await microsOf(travel, MS)
    figures.set(title, [...(figures.get(title) ?? []), micros])
  }
}
const base = median(figures.get('neither') ?? [])
for (const [title, all] of figures) {
  const micros = median(all)
  console.log(`${title.padEnd(20)} ${micros.toFixed(2)} µs a call, +${(micros - base).toFixed(2)} µs`)
}
for (const { gateway } of roads) await gateway.close()
await rm(directory, { recursive: true })

async function roadOf(config: JsonObject): Promise<{ gateway: Gateway; travel: () => Promise<unknown> }> {
  const upstreams = { up: { type: 'http', url: 'http://127.0.0.1:1/mcp', era: 'legacy' } }
  const gateway = await createGateway(
    { version: 1, upstreams, ...config },
    { plugins: [inMemory(3)], directory },
  )
  const gate: Gate = new PipelineGate(gateway.generation.graph, { name: 'bench', version: '1' })
  const session = await open(gate)
  let calls = 0
  const travel = async (): Promise<unknown> => {
    // Between calls there is time for what was put off, as there is between messages.
    if (++calls % 500 === 0) await new Promise(resolve => setImmediate(resolve))
    return gate.run(session, { method: 'tools/call', params: CALL, bytes: 120, emit: () => undefined }).answer
  }
  return { gateway, travel }
}

function open(gate: Gate): Promise<Session> {
  const notify = (): boolean => false
  return gate.openSession({ id: 'bench', listener: 'main', principal: ANONYMOUS, client: CLIENT, notify })
}

function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
}
