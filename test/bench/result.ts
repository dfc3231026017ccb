import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, release, totalmem, type as system } from 'node:os'
import { benchFile } from './children.ts'
import type { WorkResult } from './measure.ts'
import type { Mode } from './options.ts'
import type { RoadResult } from './road.ts'
import type { StartResult } from './start-up.ts'

/** What was measured with, on and when. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  /** In GB. */
  readonly memory: number
  readonly platform: string
  readonly node: string
  readonly version: string
  readonly commit: string
  readonly date: string
}

/** One run of the bench. */
export interface Result extends Machine {
  readonly mode: Mode
  /** Whether each subject had a core of its own. */
  readonly pinned: boolean
  readonly works: readonly WorkResult[]
  readonly starts: readonly StartResult[]
  readonly road: readonly RoadResult[]
}

export function machine(): Machine {
  const processors = cpus()
  const { version } = JSON.parse(readFileSync(benchFile('../../package.json'), 'utf8')) as { version: string }
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memory: Math.round(totalmem() / 1024 ** 3),
    platform: `${system()} ${release()} ${arch()}`,
    node: process.versions.node,
    version,
    commit: commitOf(),
    date: new Date().toISOString().slice(0, 10),
  }
}

function commitOf(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      cwd: benchFile('.'),
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  } catch {
    return 'unknown'
  }
}

/** Keeps the result of the last whole run. */
export function save(result: Result): void {
  mkdirSync(benchFile('results'), { recursive: true })
  writeFileSync(benchFile('results/latest.json'), `${JSON.stringify(result, round, 2)}\n`)
}

/** Four digits are more than any of this is worth, and keep the file readable. */
function round(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
