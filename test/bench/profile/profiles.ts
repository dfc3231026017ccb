/** Profiles of the three main wirings, at work: where each microsecond of a call goes. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { benchFile } from '../setup/children.ts'
import { stdioUpstream, type GatewaySpec } from '../setup/gateways.ts'
import { functionsOf, partsOf, readProfile, type Shares } from './profile-shares.ts'
import { Workshop, type Subject, type WorkshopOptions } from '../setup/workshop.ts'

const FLIGHTS = 16
const WARM_MS = 2000
const FUNCTIONS = 12

export interface ProfileResult {
  readonly wiring: ProfiledWiring
  readonly title: string
  /** Microseconds of processor time per call while it was profiled, which itself costs something. */
  readonly cpu: number | undefined
  readonly parts: Shares
  /** Those with the most time of their own. */
  readonly functions: Shares
}

export type ProfiledWiring = 'http-http' | 'http-stdio' | 'stdio-stdio'

const TITLES: Readonly<Record<ProfiledWiring, string>> = {
  'http-http': 'HTTP→HTTP',
  'http-stdio': 'HTTP→stdio',
  'stdio-stdio': 'stdio→stdio',
}

/** One gateway after the other, with all plugins on, each profiled for `ms` once it is warm. */
export async function measureProfiles(
  options: WorkshopOptions,
  url: string,
  ms: number,
): Promise<readonly ProfileResult[]> {
  const results: ProfileResult[] = []
  for (const wiring of Object.keys(TITLES) as ProfiledWiring[])
    results.push(await profiled(wiring, options, url, ms))
  return results
}

async function profiled(
  wiring: ProfiledWiring,
  options: WorkshopOptions,
  url: string,
  ms: number,
): Promise<ProfileResult> {
  const directory = options.configs.directory()
  const nodeArgs = ['--cpu-prof', '--cpu-prof-interval', '500', '--cpu-prof-dir', directory]
  const began = performance.now()
  // The sources themselves, as a bundle does not tell one folder from another.
  const launcher = benchFile('../../scripts/dev.ts')
  const gateway = await new Workshop({ ...options, launcher, nodeArgs }).gateway(specOf(wiring, url))
  options.pins.subject(gateway.pid)
  const ask = { era: 'legacy', method: 'tools/call', tool: `${gateway.prefix}small` } as const
  const from = (performance.now() - began + WARM_MS) / 1000
  const measured = await options.load.measure({
    target: gateway.target,
    ask,
    concurrency: FLIGHTS,
    warmMs: WARM_MS,
    warmCalls: 0,
    ms,
    pid: gateway.pid,
  })
  await end(gateway, options)
  const profile = readProfile(largestIn(directory))
  const window = { from, until: from + ms / 1000 }
  return {
    wiring,
    title: TITLES[wiring],
    cpu: measured.cpu,
    parts: partsOf(profile, window),
    functions: functionsOf(profile, window).slice(0, FUNCTIONS),
  }
}

function specOf(wiring: ProfiledWiring, url: string): GatewaySpec {
  const listener = wiring === 'stdio-stdio' ? 'stdio' : 'http'
  const up = wiring === 'http-http' ? ({ type: 'http', url, era: 'legacy' } as const) : stdioUpstream()
  return { listener, upstreams: { up }, plugins: 'all' }
}

/** A profile is written when its process ends. */
async function end({ target, pid }: Subject, { load, children }: WorkshopOptions): Promise<void> {
  if ('process' in target) await load.stop(target.process)
  else if (pid !== undefined) await children.end(pid)
}

/** Node processes that the gateway has started may have written theirs beside it. */
function largestIn(directory: string): string {
  const files = readdirSync(directory).map(name => join(directory, name))
  const [largest] = files.toSorted((a, b) => statSync(b).size - statSync(a).size)
  if (largest === undefined) throw new Error('the gateway has written no profile')
  return largest
}
