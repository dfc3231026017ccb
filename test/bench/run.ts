/**
 * The cost of the road: `npm run bench`, `npm run bench -- --quick` (under a minute), `-- --full` (at leisure).
 * `--only small,list` measures the works whose key contains one of these, `--flights 1,16` with so many in flight,
 * `--rounds 3` so often. `--json` prints the result file instead of tables.
 * `--gateway <launcher>` measures another build, `--profile <directory>` writes CPU profiles of the gateways.
 */
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benchFile, Children } from './children.ts'
import { Configs } from './gateways.ts'
import { measureWorks, type Pace } from './measure.ts'
import { machine, save, type Result } from './result.ts'
import type { RoadResult } from './road.ts'
import { measureStarts } from './start-up.ts'
import { Lab } from './subjects.ts'
import { roadTable, startTable, worksTable } from './table.ts'
import { WORKS, type Work } from './works.ts'

type Mode = Result['mode']

const PACES: Readonly<Record<Mode, Pace & { readonly starts: number; readonly roadMs: number }>> = {
  quick: { rounds: 3, ms: 120, warmMs: 30, firstWarmMs: 150, firstWarmCalls: 2000, starts: 3, roadMs: 20 },
  normal: {
    rounds: 5,
    ms: 400,
    warmMs: 100,
    firstWarmMs: 1000,
    firstWarmCalls: 20_000,
    starts: 10,
    roadMs: 100,
  },
  full: {
    rounds: 11,
    ms: 1500,
    warmMs: 200,
    firstWarmMs: 3000,
    firstWarmCalls: 50_000,
    starts: 30,
    roadMs: 300,
  },
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    full: { type: 'boolean' },
    json: { type: 'boolean' },
    only: { type: 'string' },
    flights: { type: 'string' },
    rounds: { type: 'string' },
    gateway: { type: 'string' },
    profile: { type: 'string' },
  },
})

await main()

async function main(): Promise<void> {
  const mode: Mode = flags.quick === true ? 'quick' : flags.full === true ? 'full' : 'normal'
  const launcher = resolve(flags.gateway ?? benchFile('../../bin/run.js'))
  if (!existsSync(resolve(launcher, '../../dist/src/gateway.js')))
    throw new Error('there is no build: run "npm run build"')
  const result = await measureAll(mode, launcher)
  say('')
  if (flags.json === true) console.log(JSON.stringify(result, undefined, 2))
  else print(result)
  const isWhole =
    flags.only === undefined &&
    flags.flights === undefined &&
    flags.gateway === undefined &&
    flags.profile === undefined
  if (isWhole && mode !== 'quick') save(result)
}

async function measureAll(mode: Mode, launcher: string): Promise<Result> {
  const pace = { ...PACES[mode], ...(flags.rounds === undefined ? {} : { rounds: Number(flags.rounds) }) }
  const children = new Children()
  const configs = new Configs()
  try {
    const nodeArgs =
      flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(flags.profile)}`]
    const load = children.load()
    const lab = new Lab({ children, load, configs, launcher, nodeArgs })
    const works = await measureWorks(chosenWorks(mode), lab, load, pace, say)
    const isAll = flags.only === undefined
    if (isAll) say('start-up')
    const starts = isAll ? await measureStarts(launcher, configs, pace.starts) : []
    if (isAll) say('in process')
    const road = isAll ? await measureRoadApart(pace.roadMs) : []
    return { ...machine(), mode, works, starts, road }
  } finally {
    await children.stop()
    configs.remove()
  }
}

function chosenWorks(mode: Mode): Parameters<typeof measureWorks>[0] {
  const wanted = flags.only?.split(',')
  const flights = flags.flights?.split(',').map(Number)
  const chosen = WORKS.filter(({ key }) => wanted?.some(part => key.includes(part)) ?? true)
  const flightsOf = ({ quick, concurrency }: Work): readonly number[] =>
    flights ?? (mode === 'quick' ? quick : concurrency)
  return chosen.map(work => ({ work, flights: flightsOf(work) })).filter(row => row.flights.length > 0)
}

/** In a process of its own, so that what ran before leaves no trace in the compiled code. */
function measureRoadApart(ms: number): Promise<readonly RoadResult[]> {
  return new Promise((resolve, reject) => {
    const child = fork(benchFile('road.ts'), [String(ms)], { timeout: 120_000 })
    child.once('message', results => {
      resolve(results as RoadResult[])
      child.kill()
    })
    child.once('exit', code => reject(new Error(`road.ts ended with ${String(code)}`)))
  })
}

function print(result: Result): void {
  const { cpu, cores, memory, platform, node, version, commit, date } = result
  console.log(
    `${cpu} × ${cores}, ${memory} GB, ${platform} · Node ${node} · tapgate ${version} (${commit}) · ${date} · ${result.mode}\n`,
  )
  if (result.works.length > 0) console.log(`${worksTable(result.works)}\n`)
  if (result.starts.length > 0) console.log(`${startTable(result.starts)}\n`)
  if (result.road.length > 0) console.log(roadTable(result.road))
}

/** Progress, on one line of a terminal. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
