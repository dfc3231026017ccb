import { setTimeout as pause } from 'node:timers/promises'
import { availableParallelism } from 'node:os'
import { benchFile, Children, type Load } from '../../bench/setup/children.ts'
import { usageOf } from '../../bench/load/usage.ts'
import type { Era } from '../../bench/load/messages.ts'
import { median } from '../../bench/statistics.ts'
import { startGateway, type Proved } from './gateway.ts'

const ROUNDS = 5
const CALLS_AT_ONCE = 32
const WARM_MS = 400
const MS = 1500

const WORKS: readonly { readonly title: string; readonly upstream: 'web' | 'pipe'; readonly era: Era }[] = [
  { title: 'HTTP→HTTP, modern', upstream: 'web', era: 'modern' },
  { title: 'HTTP→HTTP, one legacy session', upstream: 'web', era: 'legacy' },
  { title: 'HTTP→stdio, modern', upstream: 'pipe', era: 'modern' },
  { title: 'HTTP→stdio, one legacy session', upstream: 'pipe', era: 'legacy' },
]

interface Figure {
  readonly rps: number
  /** Processor time of all the gateway's processes together, in microseconds for each call. */
  readonly cpu: number
  readonly p99: number
  /** Load of the gateway, in cores. */
  readonly cores: number
}

/** Prints what two workers do beside one process; every second round the other way about. */
export async function figures(): Promise<void> {
  const children = new Children()
  const web = await children.start(
    [benchFile('peers/server-http.ts')],
    output => /http:\S+/.exec(output)?.[0],
  )
  const subjects = new Map<number, Proved>()
  for (const workers of [1, 2]) subjects.set(workers, await startGateway(config(web.found), workers))
  const load = children.load()
  const found = new Map<string, Figure[]>()
  for (let round = 0; round < ROUNDS; round++)
    for (const work of WORKS)
      for (const workers of round % 2 === 0 ? [1, 2] : [2, 1]) {
        const key = `${work.title} ${workers}`
        const figure = await measure(subjects.get(workers) as Proved, load, work)
        found.set(key, [...(found.get(key) ?? []), figure])
      }
  for (const gateway of subjects.values()) await gateway.stop()
  await children.stop()
  print(found)
}

async function measure(gateway: Proved, load: Load, work: (typeof WORKS)[number]): Promise<Figure> {
  const pids = await gateway.pids()
  const ask = { era: work.era, method: 'tools/call', tool: `${work.upstream}__small` } as const
  const running = load.measure({
    target: { url: gateway.url },
    ask,
    concurrency: CALLS_AT_ONCE,
    warmMs: WARM_MS,
    warmCalls: 0,
    ms: MS,
    pid: pids[0],
  })
  await pause(WARM_MS + 200)
  const [before, from] = [used(pids), performance.now()]
  await pause(MS - 400)
  const [after, until] = [used(pids), performance.now()]
  const { rps, p99 } = await running
  const cores = (after - before) / ((until - from) * 1000)
  return { rps, p99, cores, cpu: (cores * 1e6) / rps }
}

function used(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (usageOf(pid)?.micros ?? 0), 0)
}

function print(found: ReadonlyMap<string, readonly Figure[]>): void {
  console.log(
    `\n${CALLS_AT_ONCE} calls at once, medians of ${ROUNDS} rounds of ${MS} ms; ${availableParallelism()} cores, which the load client and the server share with the gateway`,
  )
  for (const { title } of WORKS) {
    const [one, two] = [1, 2].map(workers => medianOf(found.get(`${title} ${workers}`) ?? []))
    if (one === undefined || two === undefined) continue
    console.log(title)
    for (const [name, { rps, cpu, p99, cores }] of [
      ['one process', one] as const,
      ['two workers', two] as const,
    ])
      console.log(
        `  ${name.padEnd(12)} ${rps.toFixed(0).padStart(6)} calls/s, p99 ${p99.toFixed(1)} ms, ${cpu.toFixed(0)} µs of processor for each call, ${cores.toFixed(2)} cores busy`,
      )
    console.log(
      `  ratio        ${(two.rps / one.rps).toFixed(2)} × calls/s, ${(two.cpu / one.cpu).toFixed(2)} × processor for each call`,
    )
  }
}

function medianOf(figures: readonly Figure[]): Figure {
  const of = (key: keyof Figure): number => median(figures.map(figure => figure[key]))
  return { rps: of('rps'), cpu: of('cpu'), p99: of('p99'), cores: of('cores') }
}

function config(web: string): object {
  const none = { timeout: 0, limits: { concurrency: 0 }, breaker: false, retry: false }
  return {
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {
      web: { type: 'http', url: web, ...none },
      pipe: { type: 'stdio', command: process.execPath, args: [benchFile('peers/server-stdio.ts')], ...none },
    },
  }
}
