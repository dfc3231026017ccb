import { readdirSync, readFileSync } from 'node:fs'
import type { CeilingsConfig, StdioUpstreamConfig } from '../config/config.gen.ts'
import type { Clock } from '../api/index.ts'
import { parseDuration, parseSize } from '../util/units.ts'
import type { ProcessId } from './proc-scan.ts'
import { listProcesses, signalProcess } from './proc-scan.ts'
import type { Platform } from '../util/platform.ts'
import { getPlatform } from '../util/platform.ts'

const KIBIBYTE = 1024
/** Memory that runtimes reserve without using it (V8: 512 MiB for code), so the hard wall stands this much further out. */
const RESERVED = 1024 * 1024 * 1024
/** Distance of the hard wall of tasks, which the kernel counts over all of a user: it only bounds a burst between two looks. */
const TASKS_AHEAD = 1024
const CHECK_INTERVAL_MS = 1000
/** Processes that stay around a sandbox: bwrap, and its first process within. */
const SANDBOX_PROCESSES = 2

/** Sets each limit given as a pair, says on stderr which it could not, and becomes the program. Arguments stay arguments. */
const SCRIPT = `
while [ "$1" != -- ]; do
  if [ "$1" = -u ]; then ulimit -u "$2" 2>/dev/null || ulimit -p "$2" 2>/dev/null
  else ulimit "$1" "$2" 2>/dev/null
  fi || echo "the ceiling ulimit $1 $2 cannot be set on this machine" >&2
  shift 2
done
shift
exec "$@"
`

/** The command line that runs `argv` below its ceilings; `argv` itself where there are none. */
export function wrapWithLimits(
  ceilings: CeilingsConfig | undefined,
  argv: readonly string[],
  isSandboxed: boolean,
): readonly string[] {
  const pairs = ceilings === undefined ? [] : listLimits(ceilings, isSandboxed)
  return pairs.length === 0 ? argv : ['/bin/sh', '-c', SCRIPT, 'tapgate-ceilings', ...pairs, '--', ...argv]
}

function listLimits(
  { memory, pids, files, fileSize, cpuTime }: CeilingsConfig,
  isSandboxed: boolean,
): string[] {
  const pairs: [string, number | undefined][] = [
    ['-d', memory === undefined ? undefined : Math.ceil((parseSize(memory) + RESERVED) / KIBIBYTE)],
    // The kernel counts all tasks of the user, but those of a sandbox by themselves.
    ['-u', pids === undefined ? undefined : pids + (isSandboxed ? 0 : countSystemTasks() + TASKS_AHEAD)],
    ['-n', files],
    ['-f', fileSize === undefined ? undefined : Math.ceil(parseSize(fileSize) / 512)],
    ['-t', cpuTime === undefined ? undefined : Math.max(1, Math.ceil(parseDuration(cpuTime) / 1000))],
  ]
  return pairs.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]))
}

/** Names the ceilings that this machine does not keep, as one line for people; undefined when it keeps them all. */
export function describeUnsupportedLimits(
  ceilings: CeilingsConfig | undefined,
  platform: Platform,
): string | undefined {
  if (ceilings === undefined) return undefined
  if (!platform.hasLimits) return 'Windows has no resource limits that a parent could set'
  if (!platform.hasProc && (ceilings.memory ?? ceilings.pids) !== undefined)
    return 'memory and pids are watched on Linux only; here they are hard limits of single processes'
  return undefined
}

/** A server that runs below ceilings. */
interface LimitedServer {
  readonly pid: number | undefined
  /** Tells that the server has taken too much, and that all of it was killed. */
  giveUp(why: string): void
}

/** Looks once a second at what a server and all it started use together, and kills all of it once that is too much. Linux only. */
export function watchCeilings(
  { ceilings, sandbox }: Pick<StdioUpstreamConfig, 'ceilings' | 'sandbox'>,
  server: LimitedServer,
  clock: Clock,
): () => void {
  const { pid } = server
  if (ceilings === undefined || pid === undefined || !getPlatform().hasProc) return () => undefined
  const memory = ceilings.memory === undefined ? Infinity : parseSize(ceilings.memory)
  const most = (ceilings.pids ?? Infinity) + (sandbox === undefined ? 0 : SANDBOX_PROCESSES)
  if (memory === Infinity && most === Infinity) return () => undefined
  let known: readonly ProcessId[] = []
  let cancel = (): void => undefined
  const checkUsage = (): void => {
    cancel = clock.after(CHECK_INTERVAL_MS, checkUsage)
    known = findTree(pid, known)
    const count = most === Infinity ? 0 : known.reduce((sum, each) => sum + countThreads(each.pid), 0)
    const why = describeTaskExcess(count, most) ?? describeMemoryExcess(known, memory)
    if (why === undefined) return
    cancel()
    // What is stopped starts nothing more, and its children are still its own.
    for (let before = -1, round = 0; before !== known.length && round < MAX_STOP_ROUNDS; round++) {
      before = known.length
      for (const each of known) signalProcess(each, 'SIGSTOP')
      known = findTree(pid, known)
    }
    for (const each of known) signalProcess(each, 'SIGKILL')
    server.giveUp(why)
  }
  cancel = clock.after(CHECK_INTERVAL_MS, checkUsage)
  return () => cancel()
}

/** Looks at a tree that is being stopped. */
const MAX_STOP_ROUNDS = 50

/** A process with all of its session, what is still there of the tree as it was known, and all that these have started. */
function findTree(root: number, known: readonly ProcessId[]): ProcessId[] {
  const all = listProcesses()
  const wasKnown = new Set(known.map(({ pid, start }) => `${pid} ${start}`))
  const found = new Set<number>()
  for (let size = -1; size < found.size;) {
    size = found.size
    for (const { pid, start, parent, session } of all)
      if (pid === root || session === root || found.has(parent) || wasKnown.has(`${pid} ${start}`))
        found.add(pid)
  }
  return all.filter(({ pid }) => found.has(pid))
}

function countThreads(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

function describeTaskExcess(count: number, most: number): string | undefined {
  return count > most ? `it had ${count} processes and threads, and may have ${most}` : undefined
}

function describeMemoryExcess(processes: readonly ProcessId[], memory: number): string | undefined {
  const used = memory === Infinity ? 0 : processes.reduce((sum, { pid }) => sum + readResidentSize(pid), 0)
  if (used <= memory) return undefined
  return `it used ${formatMebibytes(used)} of memory, and may use ${formatMebibytes(memory)}`
}

function readResidentSize(pid: number): number {
  const kibibytes = /^VmRSS:\s*(\d+) kB/m.exec(readOr(`/proc/${pid}/status`, ''))?.[1]
  return Number(kibibytes ?? 0) * KIBIBYTE
}

/** Processes and threads of the whole machine. */
function countSystemTasks(): number {
  return Number(/\/(\d+) /.exec(readOr('/proc/loadavg', ''))?.[1] ?? 4096)
}

function readOr(file: string, fallback: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return fallback
  }
}

function formatMebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`
}
