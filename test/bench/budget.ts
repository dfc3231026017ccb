/**
 * Fails when the road has become grossly dearer: `npm run budget`, about twenty seconds. It measures the processor time of
 * a few calls as ratios to the raw yardsticks, and holds them against those of the last full bench. The
 * cheapest of a few short rounds counts, the limit is generous, and only what is over it three times fails: a noisy machine must
 * not be taken for a regression, and one that others keep busy is not judged.
 */
import { availableParallelism, loadavg } from 'node:os'
import { Children } from './setup/children.ts'
import { Configs } from './setup/gateways.ts'
import { measureWorks, type Pace, type Wanted, type WorkResult } from './measure.ts'
import { launcherOf } from './options.ts'
import { Pins } from './setup/pin.ts'
import { kept, type Result } from './output/result.ts'
import { betterOf, excessesOf, type Excess } from './excess.ts'
import { cheapest } from './statistics.ts'
import { Lab } from './subjects.ts'
import { Workshop } from './setup/workshop.ts'
import { WORKS } from './works.ts'

const KEYS = ['small-http-http', 'small-http-stdio', 'small-stdio-stdio', '1m-http-http']
const FLIGHTS = 16
const PACE: Pace = {
  rounds: 3,
  ms: 150,
  withinMs: 10_000,
  warmMs: 30,
  firstWarmMs: 30,
  firstWarmCalls: 500,
  subjectWarmMs: 150,
  subjectWarmCalls: 8000,
}
const TRIES = 3
/** For each processor. */
const MOST_LOAD = 2

const usual = kept<Result>('latest')
if (usual === undefined) console.log('budget: no full bench was kept, so there is nothing to hold against')
else process.exitCode = (await isWithin(usual)) ? 0 : 1

async function isWithin(usual: Result): Promise<boolean> {
  let best: readonly Excess[] = []
  for (let turn = 1; turn <= TRIES; turn++) {
    best = betterOf(excessesOf(await measured(), usual.works, FLIGHTS), best)
    for (const excess of best) console.log(lineOf(excess))
    if (best.every(({ isOver }) => !isOver)) return true
    if (turn < TRIES) console.log('budget: once more, as it may have been the machine')
  }
  return isTooBusy()
}

/** Load above which no figure says anything: code is not even compiled in time. */
function isTooBusy(): boolean {
  const [load = 0] = loadavg()
  const isBusy = load > MOST_LOAD * availableParallelism()
  if (isBusy) console.log(`budget: not judged, as others keep this machine busy (load ${load.toFixed(1)})`)
  return isBusy
}

function lineOf({ title, ratio, usual, limit, isOver }: Excess): string {
  const figures = `${ratio.toFixed(2)} × raw, usually ${usual.toFixed(2)}, at most ${limit.toFixed(2)}`
  return `${isOver ? 'OVER' : 'ok  '}  ${title}: ${figures}`
}

async function measured(): Promise<readonly WorkResult[]> {
  const children = new Children()
  const configs = new Configs()
  try {
    const load = children.load()
    const pins = new Pins(true)
    pins.other(load.pid)
    const launcher = launcherOf(undefined)
    const lab = new Lab(new Workshop({ children, load, configs, pins, launcher, nodeArgs: [] }), undefined)
    const works: Wanted = WORKS.filter(({ key }) => KEYS.includes(key)).map(work => ({
      work,
      flights: [FLIGHTS],
    }))
    return await measureWorks(works, {
      lab,
      load,
      pins,
      pace: PACE,
      warm: new WeakSet(),
      sum: cheapest,
      say: () => undefined,
    })
  } finally {
    await children.stop()
    configs.remove()
  }
}
