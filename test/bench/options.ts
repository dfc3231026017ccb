import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benchFile } from './children.ts'
import type { Pace } from './measure.ts'
import { WORKS, type Work } from './works.ts'

export type Mode = 'quick' | 'normal' | 'full'

/** One run of the bench, as its flags ask for it. */
export interface Options {
  readonly mode: Mode
  readonly pace: Pace
  readonly works: readonly { readonly work: Work; readonly flights: readonly number[] }[]
  /** How often commands are started, and how long each round of the in-process figures lasts. */
  readonly starts: number
  readonly roadMs: number
  /** Whether start-up and in-process figures are wanted too. */
  readonly hasOthers: boolean
  /** Whether this is a run of everything on this build, and no quick look: its result is kept. */
  readonly isKept: boolean
  readonly isJson: boolean
  readonly isPinned: boolean
  readonly launcher: string
  /** Arguments for the gateway's Node. */
  readonly nodeArgs: readonly string[]
}

const PACES: Readonly<Record<Mode, Pace>> = {
  quick: { rounds: 3, ms: 100, warmMs: 20, firstWarmMs: 100, firstWarmCalls: 1500 },
  normal: { rounds: 5, ms: 400, warmMs: 100, firstWarmMs: 1000, firstWarmCalls: 20_000 },
  full: { rounds: 11, ms: 1500, warmMs: 200, firstWarmMs: 3000, firstWarmCalls: 50_000 },
}
const STARTS: Readonly<Record<Mode, number>> = { quick: 2, normal: 10, full: 30 }
const ROAD_MS: Readonly<Record<Mode, number>> = { quick: 30, normal: 100, full: 300 }

const FLAGS = {
  quick: { type: 'boolean' },
  full: { type: 'boolean' },
  json: { type: 'boolean' },
  save: { type: 'boolean' },
  'no-pin': { type: 'boolean' },
  only: { type: 'string' },
  flights: { type: 'string' },
  rounds: { type: 'string' },
  gateway: { type: 'string' },
  profile: { type: 'string' },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

/** Reads the command line. */
export function readOptions(args: readonly string[]): Options {
  const { values: flags } = parseArgs({ args: [...args], options: FLAGS })
  const mode: Mode = flags.quick === true ? 'quick' : flags.full === true ? 'full' : 'normal'
  const { only, flights, rounds, gateway, profile } = flags
  const isPartial = [only, flights, rounds, gateway, profile].some(flag => flag !== undefined)
  return {
    mode,
    pace: rounds === undefined ? PACES[mode] : { ...PACES[mode], rounds: Number(rounds) },
    works: chosenWorks(mode, flags),
    starts: STARTS[mode],
    roadMs: ROAD_MS[mode],
    hasOthers: only === undefined,
    isKept: !isPartial && (mode !== 'quick' || flags.save === true),
    isJson: flags.json === true,
    isPinned: flags['no-pin'] !== true,
    launcher: launcherOf(gateway),
    nodeArgs: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`],
  }
}

function chosenWorks(mode: Mode, { only, flights }: Flags): Options['works'] {
  const wanted = only?.split(',')
  const inFlight = flights?.split(',').map(Number)
  const chosen = WORKS.filter(({ key }) => wanted?.some(part => key.includes(part)) ?? true)
  const flightsOf = ({ quick, concurrency }: Work): readonly number[] =>
    inFlight ?? (mode === 'quick' ? quick : concurrency)
  return chosen.map(work => ({ work, flights: flightsOf(work) })).filter(row => row.flights.length > 0)
}

function launcherOf(given: string | undefined): string {
  const launcher = resolve(given ?? benchFile('../../bin/run.js'))
  if (existsSync(resolve(launcher, '../../dist/src/index.js'))) return launcher
  throw new Error(`${launcher} is not built: run "npm run build"`)
}
