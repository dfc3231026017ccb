import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benchFile } from './children.ts'
import type { Pace, Wanted } from './measure.ts'
import { WORKS, type Work } from './works.ts'

export type Mode = 'quick' | 'normal' | 'full'

/** One run of the bench, as its flags ask for it. */
export interface Options {
  readonly mode: Mode
  readonly pace: Pace
  readonly works: Wanted
  /** How often commands are started, how long each round of the in-process figures lasts, and each profile. */
  readonly starts: number
  readonly roadMs: number
  readonly profileMs: number
  /** How long a gateway is kept busy to see its memory. */
  readonly busyMs: number
  /** Whether start-up, memory and in-process figures are wanted too. */
  readonly hasOthers: boolean
  /** Whether the other gateways are measured beside this one. */
  readonly hasPeers: boolean
  /** Whether this is a run of everything on this build, and no quick look: its result is kept. */
  readonly isKept: boolean
  /** Writes BENCHMARKS.md from what is kept; alone, nothing is measured. */
  readonly isWritten: boolean
  readonly isOnlyWritten: boolean
  /** Milliseconds of a soak, which is all that is done then. */
  readonly soakMs: number | undefined
  readonly isJson: boolean
  readonly isPinned: boolean
  readonly launcher: string
  /** Arguments for the gateway's Node. */
  readonly nodeArgs: readonly string[]
}

const PACES: Readonly<Record<Mode, Pace>> = {
  quick: { rounds: 2, ms: 120, warmMs: 20, firstWarmMs: 120, firstWarmCalls: 2000 },
  normal: { rounds: 3, ms: 250, warmMs: 50, firstWarmMs: 300, firstWarmCalls: 5000 },
  full: { rounds: 5, ms: 300, warmMs: 50, firstWarmMs: 300, firstWarmCalls: 8000 },
}
const STARTS: Readonly<Record<Mode, number>> = { quick: 1, normal: 5, full: 9 }
const ROAD_MS: Readonly<Record<Mode, number>> = { quick: 20, normal: 60, full: 150 }
const PROFILE_MS: Readonly<Record<Mode, number>> = { quick: 0, normal: 0, full: 4000 }
const BUSY_MS: Readonly<Record<Mode, number>> = { quick: 300, normal: 1000, full: 4000 }

const FLAGS = {
  quick: { type: 'boolean' },
  full: { type: 'boolean' },
  peers: { type: 'boolean' },
  write: { type: 'boolean' },
  json: { type: 'boolean' },
  save: { type: 'boolean' },
  'no-pin': { type: 'boolean' },
  only: { type: 'string' },
  flights: { type: 'string' },
  rounds: { type: 'string' },
  gateway: { type: 'string' },
  profile: { type: 'string' },
  soak: { type: 'string' },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

/** Reads the command line. */
export function readOptions(args: readonly string[]): Options {
  const { values: flags } = parseArgs({ args: [...args], options: FLAGS })
  const mode: Mode = flags.quick === true ? 'quick' : flags.full === true ? 'full' : 'normal'
  const { only, flights, rounds, gateway, profile } = flags
  const isPartial = [only, flights, rounds, gateway, profile].some(flag => flag !== undefined)
  const isKept = !isPartial && (mode === 'full' || flags.save === true)
  return {
    mode,
    pace: rounds === undefined ? PACES[mode] : { ...PACES[mode], rounds: Number(rounds) },
    works: chosenWorks(mode, flags),
    starts: STARTS[mode],
    roadMs: ROAD_MS[mode],
    profileMs: PROFILE_MS[mode],
    busyMs: BUSY_MS[mode],
    hasOthers: only === undefined,
    hasPeers: flags.peers === true,
    isKept,
    isWritten: isKept || flags.write === true,
    isOnlyWritten: flags.write === true && args.length === 1,
    soakMs: flags.soak === undefined ? undefined : millisOf(flags.soak),
    isJson: flags.json === true,
    isPinned: flags['no-pin'] !== true,
    launcher: launcherOf(gateway),
    nodeArgs: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`],
  }
}

function chosenWorks(mode: Mode, { only, flights }: Flags): Wanted {
  const wanted = only?.split(',')
  const inFlight = flights?.split(',').map(Number)
  const chosen = WORKS.filter(({ key }) => wanted?.some(part => key.includes(part)) ?? true)
  const flightsOf = (work: Work): readonly number[] =>
    inFlight ?? (only === undefined ? usual(mode, work) : work.concurrency)
  return chosen.map(work => ({ work, flights: flightsOf(work) })).filter(row => row.flights.length > 0)
}

function usual(mode: Mode, { quick = [], concurrency, isFullOnly = false }: Work): readonly number[] {
  if (mode === 'quick') return quick
  return isFullOnly && mode !== 'full' ? [] : concurrency
}

/** Such as `90s` or `10m`. */
function millisOf(text: string): number {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(text) ?? []
  if (number === undefined) throw new Error(`--soak ${text}: say how long, such as 90s or 10m`)
  return Number(number) * (unit === 'm' ? 60_000 : 1000)
}

function launcherOf(given: string | undefined): string {
  const launcher = resolve(given ?? benchFile('../../bin/run.js'))
  if (existsSync(resolve(launcher, '../../dist/src/index.js'))) return launcher
  throw new Error(`${launcher} is not built: run "npm run build"`)
}
