/**
 * The cost of the road: `npm run bench`, `npm run bench -- --quick` (under a minute), `-- --full` (at leisure).
 *
 * `--only small,list` measures the works whose key contains one of these, `--flights 1,16` with so many in flight,
 * `--rounds 3` so often; start-up and in-process figures are part of whole runs. `--json` prints the result instead
 * of tables. Whole runs are kept in results/latest.json, quick ones with `--save`. `--no-pin` leaves it to the system
 * which core runs what. `--gateway <launcher>` measures another build, `--profile <directory>` writes CPU profiles of
 * the gateways, for profile.ts.
 */
import { fork } from 'node:child_process'
import { benchFile, Children } from './children.ts'
import { Configs } from './gateways.ts'
import { measureWorks } from './measure.ts'
import { readOptions, type Options } from './options.ts'
import { Pins } from './pin.ts'
import { machine, save, type Result } from './result.ts'
import type { RoadResult } from './road.ts'
import { measureStarts } from './start-up.ts'
import { Lab } from './subjects.ts'
import { roadTable, startTable, worksTable } from './table.ts'

const options = readOptions(process.argv.slice(2))
const result = await measureAll(options)
say('')
if (options.isJson) console.log(JSON.stringify(result, undefined, 2))
else print(result)
if (options.isKept) save(result)

async function measureAll({
  mode,
  pace,
  works,
  isPinned,
  launcher,
  nodeArgs,
  ...more
}: Options): Promise<Result> {
  const children = new Children()
  const configs = new Configs()
  const pins = new Pins(isPinned)
  try {
    const load = children.load()
    pins.other(load.pid)
    const lab = new Lab({ children, load, configs, pins, launcher, nodeArgs })
    const measured = await measureWorks(works, { lab, load, pins, pace, say })
    if (!more.hasOthers)
      return { ...machine(), mode, pinned: pins.isOn, works: measured, starts: [], road: [] }
    say('start-up')
    const starts = await measureStarts(launcher, configs, more.starts)
    say('in process')
    const road = await measureRoadApart(more.roadMs)
    return { ...machine(), mode, pinned: pins.isOn, works: measured, starts, road }
  } finally {
    await children.stop()
    configs.remove()
  }
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

function print({
  cpu,
  cores,
  memory,
  platform,
  node,
  version,
  commit,
  date,
  mode,
  pinned,
  ...tables
}: Result): void {
  const how = `${mode}${pinned ? ', pinned' : ''}`
  console.log(`${cpu} × ${cores}, ${memory} GB, ${platform}`)
  console.log(`Node ${node}, tapgate ${version} (${commit}), ${date}, ${how}\n`)
  if (tables.works.length > 0) console.log(`${worksTable(tables.works)}\n`)
  if (tables.starts.length > 0) console.log(`${startTable(tables.starts)}\n`)
  if (tables.road.length > 0) console.log(roadTable(tables.road))
}

/** Progress, on one line of a terminal. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
