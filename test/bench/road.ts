/** The cost of the road alone: one exchange with 0 and 8 plugins, and of reading and writing messages. No I/O. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANONYMOUS, type Gate, type Inbound, type Session } from '../../src/plugin.ts'
import { PipelineGate } from '../../src/core/gate.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { encodeResult, parseMessage, parseServerMessage, writeResult } from '../../src/protocol/jsonrpc.ts'
import { newestReader } from '../../src/protocol/versions.ts'
import { toModernResult } from '../../src/protocol/era/modern.ts'
import { Payload } from '../../src/protocol/payload.ts'
import { encodeAnswer } from '../../src/listeners/client/encode-answer.ts'
import type { Plugins } from './features.ts'
import { configOf } from './setup/gateways.ts'
import { inMemory } from './setup/memory-upstream.ts'
import { Answers } from './peers/answers.ts'
import { microsOf } from './stopwatch.ts'
import { roadTable } from './output/table.ts'

/** One figure of this table. */
export interface RoadResult {
  readonly key: string
  readonly title: string
  readonly micros: number
}

/** File that the audit is written to. */
const directory = mkdtempSync(join(tmpdir(), 'gateway-road-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))

type Task = readonly [key: string, title: string, work: () => unknown]

/** Measures everything, `ms` for each round of each. */
export async function measureRoad(ms: number): Promise<readonly RoadResult[]> {
  const tasks: Task[] = [
    ...(await exchanges('none', '0 plugins')),
    ...(await exchanges('all', 'all plugins')),
    ...messages(),
  ]
  const results: RoadResult[] = []
  for (const [key, title, work] of tasks) results.push({ key, title, micros: await microsOf(work, ms) })
  return results
}

async function exchanges(plugins: Plugins, words: string): Promise<Task[]> {
  const fresh = await roadWith(plugins, 3)
  const listed = await roadWith(plugins, 3)
  const many = await roadWith(plugins, 1000)
  await listed.travel('tools/list')
  return [
    [
      `call-${plugins}`,
      `one tools/call, ${words}`,
      () => listed.travel('tools/call', { name: 'up__small', arguments: {} }),
    ],
    [
      `unlisted-${plugins}`,
      `the same, nobody has listed the tools, ${words}`,
      () => fresh.travel('tools/call', { name: 'up__small', arguments: {} }),
    ],
    [`list-${plugins}`, `one tools/list of 1,000 tools, ${words}`, () => many.travel('tools/list')],
  ]
}

interface Road {
  travel(method: string, params?: Inbound['params']): Promise<unknown>
}

/** A gateway with these plugins before servers in memory. */
async function roadWith(plugins: Plugins, tools: number): Promise<Road> {
  const upstreams = { up: { type: 'http', url: 'http://127.0.0.1:1/mcp', era: 'legacy' } } as const
  const config = { ...configOf({ listener: 'http', upstreams, plugins }, directory) }
  const gateway = await createGateway(config, { plugins: [inMemory(tools)] })
  const gate: Gate = new PipelineGate(gateway.generation.graph, { name: 'bench', version: '1' })
  const session = await open(gate)
  return { travel: (method, params) => gate.run(session, { method, params, emit: () => undefined }).answer }
}

function open(gate: Gate): Promise<Session> {
  const client = {
    info: { name: 'bench', version: '1' },
    capabilities: {},
    version: '2025-11-25',
    era: 'legacy',
    logLevel: undefined,
  } as const
  return gate.openSession({
    id: 'bench',
    listener: 'main',
    principal: ANONYMOUS,
    client,
    notify: () => false,
  })
}

function messages(): Task[] {
  const answers = new Answers(1000, '')
  const request = Buffer.from(call('small'))
  const [small, ten, mega] = ['small', 'kb10', 'mb1'].map(name =>
    Buffer.from(answers.answer(call(name)) ?? ''),
  ) as [Buffer, Buffer, Buffer]
  const list = Buffer.from(answers.answer('{"jsonrpc":"2.0","id":1,"method":"tools/list"}') ?? '')
  const result = Payload.raw(small.subarray(small.indexOf('"result":') + 9, -1), 'legacy')
  return [
    ['parse-request', `read a request of ${request.length} bytes`, () => parseMessage(request)],
    ['json-request', '  with JSON.parse alone', () => JSON.parse(request.toString()) as unknown],
    ['parse-small', `read a reply of ${small.length} bytes`, () => parseServerMessage(small, 'legacy')],
    ['json-small', '  with JSON.parse alone', () => JSON.parse(small.toString()) as unknown],
    ['parse-10k', 'read a reply of 10 KB', () => parseServerMessage(ten, 'legacy')],
    ['json-10k', '  with JSON.parse alone', () => JSON.parse(ten.toString()) as unknown],
    ['parse-1m', 'read a reply of 1 MB', () => parseServerMessage(mega, 'legacy')],
    ['json-1m', '  with JSON.parse alone', () => JSON.parse(mega.toString()) as unknown],
    [
      'parse-list',
      `read a list of 1,000 tools (${Math.round(list.length / 1024)} KB)`,
      () => parseServerMessage(list, 'legacy'),
    ],
    ['json-list', '  with JSON.parse alone', () => JSON.parse(list.toString()) as unknown],
    [
      'write-small',
      'write a small answer, same era',
      () => encodeAnswer(1, 'tools/call', { result }, newestReader('legacy')),
    ],
    [
      'bridge-small',
      'a small legacy result made modern',
      () => writeResult(1, toModernResult(result, 'tools/call')),
    ],
    ['write-1m', 'splice an id around 1 MB', () => encodeResult(1, mega)],
  ]
}

function call(name: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { path: 'src/index.ts', query: 'hello' } },
  })
}

// Run by itself, it prints; as a child of the bench, it reports.
if (import.meta.main) {
  const results = await measureRoad(Number(process.argv[2] ?? 150))
  if (process.send === undefined) console.log(roadTable(results))
  else process.send(results)
}
