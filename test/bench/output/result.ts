import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { arch, cpus, release, totalmem, type as system } from 'node:os'
import type { PluginCost } from '../alone/plugins-alone.ts'
import { benchFile } from '../setup/children.ts'
import type { WorkResult } from '../measure.ts'
import type { MemoryResult } from '../memory.ts'
import { nginxVersion } from '../setup/nginx.ts'
import type { Mode } from '../options.ts'
import type { StartResult } from '../start-up.ts'

/** All that was measured with, on and when. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  /** In GB. */
  readonly gigabytes: number
  readonly platform: string
  readonly node: string
  readonly version: string
  readonly nginx: string | undefined
  readonly commit: string
  readonly date: string
}

/** One run of the bench. */
export interface Result extends Machine {
  readonly mode: Mode
  /** Says whether each subject had a core of its own. */
  readonly pinned: boolean
  readonly works: readonly WorkResult[]
  readonly starts: readonly StartResult[]
  readonly memory: readonly MemoryResult[]
  /** Each plugin without any I/O. */
  readonly plugins: readonly PluginCost[]
  /** Such as `mcp-proxy 6.7.19`, and of those that could not be had or started why. */
  readonly peers: readonly string[]
  readonly remarks: readonly string[]
  /** Time that it all took. */
  readonly seconds: number
  /** Number of programs wanted a processor when it began, over a minute. */
  readonly load: number
}

export function machine(): Machine {
  const processors = cpus()
  const { version } = JSON.parse(readFileSync(benchFile('../../package.json'), 'utf8')) as {
    version: string
  }
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    gigabytes: Math.round(totalmem() / 1024 ** 3),
    platform: `${system()} ${release().split('.').slice(0, 2).join('.')} ${arch()}`,
    node: process.versions.node,
    version,
    nginx: nginxVersion(),
    commit: commitOf(),
    date: new Date().toISOString().slice(0, 10),
  }
}

/** With a plus when what is measured differs from it. */
function commitOf(): string {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: benchFile('../..'), encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'plugins', 'bin')
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`
  } catch {
    return 'unknown'
  }
}
