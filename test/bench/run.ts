/**
 * The cost of the road: `npm run bench`, `npm run bench -- --quick` (under a minute), `-- --full` (a quarter of an hour).
 *
 * `--peers` measures other gateways beside this one. `--only small,list` measures the works whose key contains one of
 * these, `--flights 1,16` with so many in flight, `--rounds 3` so often; start-up, memory and in-process figures are part of whole runs, and `--only memory,start-up,in-process` of others. `--json` prints the result instead
 * of tables.
 * `--soak 10m` keeps a gateway busy with everything and watches its memory.
 * `--gateway <launcher>` measures another build, `--profile <directory>` writes CPU profiles of the gateways.
 */
import { fork } from 'node:child_process'
import { loadavg } from 'node:os'
import type { PluginCost } from './alone/plugins-alone.ts'
import { benchFile, Children } from './setup/children.ts'
import { Configs } from './setup/gateways.ts'
import { measureMemory } from './memory.ts'
import { measureWorks } from './measure.ts'
import { readOptions, type Options } from './options.ts'
import { Pins } from './setup/pin.ts'
import { print } from './output/print.ts'
import { machine, type Result } from './output/result.ts'
import { Rivals } from './rivals.ts'
import { soak } from './soak.ts'
import { measureStarts } from './start-up.ts'
import { Lab } from './subjects.ts'
import { Workshop, type WorkshopOptions } from './setup/workshop.ts'

const options = readOptions(process.argv.slice(2))
const remarks: string[] = []
if (options.soakMs !== undefined) await withAll(options, all => soak(all, options.soakMs ?? 0))
else {
  const result = await withAll(options, all => measureAll(options, all))
  say('')
  if (options.isJson) console.log(JSON.stringify(result, undefined, 2))
  else print(result)
  if (failuresOf(result) > 0) process.exitCode = 1
}

/** Everything that a run starts, ended when it is done. */
async function withAll<T>(
  { launcher, nodeArgs, hasPeers }: Options,
  use: (all: WorkshopOptions) => Promise<T>,
): Promise<T> {
  const children = new Children()
  const configs = new Configs()
  try {
    // A peer that runs below the load client keeps what it knows here.
    const env = hasPeers ? { ...process.env, MCP_REMOTE_CONFIG_DIR: configs.directory() } : process.env
    const load = children.load(env)
    const pins = new Pins()
    pins.other(load.pid)
    return await use({ children, load, configs, pins, launcher, nodeArgs })
  } finally {
    await children.stop()
    configs.remove()
  }
}

async function measureAll(options: Options, all: WorkshopOptions): Promise<Result> {
  const began = performance.now()
  const [load = 0] = loadavg()
  const { mode, works: wanted, pace } = options
  const workshop = new Workshop(all)
  const rivals = options.hasPeers ? await Rivals.installed(tell) : undefined
  const lab = new Lab(workshop, rivals)
  const works = await measureWorks(wanted, { ...all, lab, pace, say, warm: new WeakSet() })
  const others = await measureOthers(options, all, workshop, rivals)
  const seconds = Math.round((performance.now() - began) / 1000)
  const peers = rivals?.versions ?? []
  return { ...machine(), mode, pinned: all.pins.isOn, seconds, load, peers, remarks, works, ...others }
}

type Others = Pick<Result, 'starts' | 'memory' | 'plugins'>

async function measureOthers(
  { others, starts: times, cold, pluginRounds, busyMs, settleMs }: Options,
  all: WorkshopOptions,
  workshop: Workshop,
  rivals: Rivals | undefined,
): Promise<Others> {
  const starts = others.has('start-up') ? await measureStarts({ ...all, cold, rivals }, times, say) : []
  say('memory')
  const memory = others.has('memory') ? await measureMemory({ ...all, workshop, settleMs }, busyMs) : []
  say('each plugin in process')
  const isWanted = others.has('in-process') && pluginRounds > 0
  const plugins = isWanted ? await apart<PluginCost>('alone/plugins-alone.ts', pluginRounds) : []
  return { starts, memory, plugins }
}

/** In a process of its own, so that what ran before leaves no trace in the compiled code. */
function apart<T>(file: string, argument: number): Promise<readonly T[]> {
  return new Promise((resolve, reject) => {
    const child = fork(benchFile(file), [String(argument)], { timeout: 600_000 })
    child.once('message', results => {
      resolve(results as T[])
      child.kill()
    })
    child.once('exit', code => reject(new Error(`${file} ended with ${String(code)}`)))
  })
}

/** Of subjects that are ours; what other gateways cannot do is a remark. */
function failuresOf({ works }: Result): number {
  const failed = works.flatMap(({ key, subjects }) =>
    subjects.flatMap(subject => ('failed' in subject ? [{ key, ...subject }] : [])),
  )
  const isOurs = (label: string): boolean => /^(direct|raw|nginx|gateway|all|\d+)|alone$/.test(label)
  for (const { key, label, failed: why } of failed) console.error(`${key}: ${label} failed: ${why}`)
  return failed.filter(({ label }) => isOurs(label)).length
}

function tell(text: string): void {
  remarks.push(text)
  console.error(text)
}

/** Progress, on one line of a terminal. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
