/**
 * Fails when the road has become grossly dearer: `npm run budget`, about twenty seconds. It measures the processor time of
 * a few calls as ratios to the raw yardsticks, and holds them against those of the last full bench. Medians of
 * a few short rounds count, the limit is generous, and only what fails twice fails: a noisy machine must not be taken for a
 * regression.
 */
import { Children } from './children.ts'
import { Configs } from './gateways.ts'
import { measureWorks, type Pace, type Wanted, type WorkResult } from './measure.ts'
import { launcherOf } from './options.ts'
import { Pins } from './pin.ts'
import { kept, type Result } from './result.ts'
import { excessesOf, type Excess } from './excess.ts'
import { Lab } from './subjects.ts'
import { Workshop } from './workshop.ts'
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
  subjectWarmMs: 60,
  subjectWarmCalls: 6000,
}
const TRIES = 2

const usual = kept<Result>('latest')
if (usual === undefined) console.log('budget: no full bench was kept, so there is nothing to hold against')
else process.exitCode = (await isWithin(usual)) ? 0 : 1

async function isWithin(usual: Result): Promise<boolean> {
  for (let turn = 1; turn <= TRIES; turn++) {
    const excesses = excessesOf(await measured(), usual.works, FLIGHTS)
    for (const excess of excesses) console.log(lineOf(excess))
    if (excesses.every(({ isOver }) => !isOver)) return true
    if (turn < TRIES) console.log('budget: once more, as it may have been the machine')
  }
  return false
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
      say: () => undefined,
    })
  } finally {
    await children.stop()
    configs.remove()
  }
}
