import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benchFile } from './setup/children.ts'
import type { Pace, Wanted } from './measure.ts'
import { WORKS, type Work } from './works.ts'

/** All that is measured beside works. */
export type Other = 'start-up' | 'memory' | 'in-process'

export type Mode = 'quick' | 'normal' | 'full'

/** One run of the bench, as its flags ask for it. */
export interface Options {
  readonly mode: Mode
  readonly pace: Pace
  readonly works: Wanted
  /** Number of times that commands are started. */
  readonly starts: number
  /** Rounds of the plugins without any I/O; none in a quick run. */
  readonly pluginRounds: number
  /** The time that a gateway is kept busy to see its memory. */
  readonly busyMs: number
  /** Until garbage is collected and pages are given back. */
  readonly settleMs: number
  /** Number of stdio servers a cold start has. */
  readonly cold: readonly number[]
  /** All that is wanted beside works. */
  readonly others: ReadonlySet<Other>
  /** Says whether the other gateways are measured beside this one. */
  readonly hasPeers: boolean
  /** Milliseconds of a soak, which is all that is done then. */
  readonly soakMs: number | undefined
  readonly isJson: boolean
  readonly launcher: string
  /** Arguments for the gateway's Node. */
  readonly nodeArgs: readonly string[]
}

const WARMTHS = {
  quick: { warmMs: 20, firstWarmMs: 30, firstWarmCalls: 500, subjectWarmMs: 60, subjectWarmCalls: 5000 },
  normal: { warmMs: 50, firstWarmMs: 50, firstWarmCalls: 1500, subjectWarmMs: 200, subjectWarmCalls: 15_000 },
  full: { warmMs: 50, firstWarmMs: 50, firstWarmCalls: 2000, subjectWarmMs: 500, subjectWarmCalls: 25_000 },
} as const
const PACES: Readonly<Record<Mode, Pace>> = {
  quick: { rounds: 2, ms: 100, withinMs: 40_000, ...WARMTHS.quick },
  normal: { rounds: 3, ms: 250, withinMs: 300_000, ...WARMTHS.normal },
  full: { rounds: 5, ms: 300, withinMs: 660_000, ...WARMTHS.full },
}
/** With the other gateways beside, rounds may take so much longer. */
const PEERS_TIME = 1.5
const STARTS: Readonly<Record<Mode, number>> = { quick: 1, normal: 5, full: 9 }
const PLUGIN_ROUNDS: Readonly<Record<Mode, number>> = { quick: 0, normal: 20, full: 60 }
const SETTLE_MS: Readonly<Record<Mode, number>> = { quick: 500, normal: 2000, full: 3000 }
/** Number of stdio servers a cold start has. */
const COLD: Readonly<Record<Mode, readonly number[]>> = { quick: [1], normal: [1, 20], full: [1, 5, 20] }
const BUSY_MS: Readonly<Record<Mode, number>> = { quick: 300, normal: 1000, full: 4000 }

const FLAGS = {
  quick: { type: 'boolean' },
  full: { type: 'boolean' },
  peers: { type: 'boolean' },
  json: { type: 'boolean' },
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
  const mode = modeOf(flags)
  const { only, gateway, profile } = flags
  return {
    mode,
    pace: paceOf(mode, flags),
    works: chosenWorks(mode, flags),
    starts: STARTS[mode],
    pluginRounds: PLUGIN_ROUNDS[mode],
    cold: COLD[mode],
    busyMs: BUSY_MS[mode],
    settleMs: SETTLE_MS[mode],
    others: chosenOthers(only?.split(',')),
    hasPeers: flags.peers === true,
    soakMs: flags.soak === undefined ? undefined : millisOf(flags.soak),
    isJson: flags.json === true,
    launcher: launcherOf(gateway),
    nodeArgs: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`],
  }
}

function paceOf(mode: Mode, { rounds, peers = false }: Flags): Pace {
  const pace = PACES[mode]
  return {
    ...pace,
    rounds: rounds === undefined ? pace.rounds : Number(rounds),
    withinMs: pace.withinMs * (peers ? PEERS_TIME : 1),
  }
}

function modeOf({ quick = false, full = false }: Flags): Mode {
  if (quick) return 'quick'
  return full ? 'full' : 'normal'
}

function chosenWorks(mode: Mode, { only, flights }: Flags): Wanted {
  const wanted = only?.split(',')
  const inFlight = flights?.split(',').map(Number)
  const chosen = WORKS.filter(({ key }) => wanted?.some(part => key.includes(part)) ?? true)
  const flightsOf = (work: Work): readonly number[] =>
    inFlight ?? (only === undefined ? usual(mode, work) : work.concurrency)
  return chosen.map(work => ({ work, flights: flightsOf(work) })).filter(row => row.flights.length > 0)
}

function chosenOthers(wanted: readonly string[] | undefined): ReadonlySet<Other> {
  const all: readonly Other[] = ['start-up', 'memory', 'in-process']
  return new Set(all.filter(other => wanted?.includes(other) ?? true))
}

function usual(mode: Mode, { quick = [], concurrency }: Work): readonly number[] {
  return mode === 'quick' ? quick : concurrency
}

/** Such as `90s` or `10m`. */
function millisOf(text: string): number {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(text) ?? []
  if (number === undefined) throw new Error(`--soak ${text}: say how long, such as 90s or 10m`)
  return Number(number) * (unit === 'm' ? 60_000 : 1000)
}

/** The launcher that is meant, which must be built. */
function launcherOf(given: string | undefined): string {
  const launcher = resolve(given ?? benchFile('../../bin/run.js'))
  if (existsSync(resolve(launcher, '../../dist/src/index.js'))) return launcher
  throw new Error(`${launcher} is not built: run "npm run build"`)
}
