import { readdirSync, readFileSync } from 'node:fs'
import type { CeilingsConfig, StdioUpstreamConfig } from '../config/config.gen.ts'
import type { Clock } from '../api/index.ts'
import { parseDuration, parseSize } from '../util/units.ts'
import type { ProcessId } from './proc-scan.ts'
import { listProcesses, signalProcess } from './proc-scan.ts'
import type { Platform } from '../util/platform.ts'
import { getPlatform } from '../util/platform.ts'

const KIBIBYTE = 1024
/** Runtimes reserve memory without using it (V8: 512 MiB for code), so the hard limit is higher by this. */
const RESERVED = 1024 * 1024 * 1024
/** Hard task limit margin, which the kernel counts per user; it only bounds bursts between checks. */
const TASKS_AHEAD = 1024
const CHECK_INTERVAL_MS = 1000
/** Extra processes in a sandbox: bwrap and its init. */
const SANDBOX_PROCESSES = 2

/** Sets each limit pair, reports failures on stderr, then execs the program. Arguments are not interpreted. */
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

/** Wraps a command line in its limits, if any. */
export function wrapWithLimits(
  ceilings: CeilingsConfig | undefined,
  argv: readonly string[],
  isSandboxed: boolean,
): readonly string[] {
  const pairs = ceilings === undefined ? [] : listLimits(ceilings, isSandboxed)
  return pairs.length === 0 ? argv : ['/bin/sh', '-c', SCRIPT, 'tapgate-ceilings', ...pairs, '--', ...argv]
}

function listLimits({ memory, pids, files, fileSize, cpuTime }: CeilingsConfig, isSandboxed: boolean): string[] {
  const pairs: [string, number | undefined][] = [
    ['-d', memory === undefined ? undefined : Math.ceil((parseSize(memory) + RESERVED) / KIBIBYTE)],
    // The kernel counts tasks per user, but separately per sandbox.
    ['-u', pids === undefined ? undefined : pids + (isSandboxed ? 0 : countSystemTasks() + TASKS_AHEAD)],
    ['-n', files],
    ['-f', fileSize === undefined ? undefined : Math.ceil(parseSize(fileSize) / 512)],
    ['-t', cpuTime === undefined ? undefined : Math.max(1, Math.ceil(parseDuration(cpuTime) / 1000))],
  ]
  return pairs.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]))
}

/** Describes limits that this platform cannot enforce; undefined if it enforces all. */
export function describeUnsupportedLimits(
  ceilings: CeilingsConfig | undefined,
  platform: Platform,
): string | undefined {
  if (ceilings === undefined) return undefined
  if (!platform.hasLimits) return 'Windows has no resource limits'
  if (!platform.hasProc && (ceilings.memory ?? ceilings.pids) !== undefined)
    return 'memory and pids are only monitored on Linux; here they are hard limits per process'
  return undefined
}

interface LimitedServer {
  readonly pid: number | undefined
  /** Called after the server was killed for exceeding a limit. */
  giveUp(reason: string): void
}

/** Checks the total usage of a server's process tree every second, and kills it above a limit. Linux only. */
export function watchCeilings(
  { ceilings, sandbox }: Pick<StdioUpstreamConfig, 'ceilings' | 'sandbox'>,
  server: LimitedServer,
  clock: Clock,
): () => void {
  const { pid } = server
  if (ceilings === undefined || pid === undefined || !getPlatform().hasProc) return () => undefined
  const memory = ceilings.memory === undefined ? Infinity : parseSize(ceilings.memory)
  const maxTasks = (ceilings.pids ?? Infinity) + (sandbox === undefined ? 0 : SANDBOX_PROCESSES)
  if (memory === Infinity && maxTasks === Infinity) return () => undefined
  let processes: readonly ProcessId[] = []
  let cancel = (): void => undefined
  const checkUsage = (): void => {
    processes = findTree(pid, processes)
    const reason = describeExcess(processes, memory, maxTasks)
    cancel = clock.after(CHECK_INTERVAL_MS, checkUsage)
    if (reason === undefined) return
    cancel()
    // Stop first: a stopped process cannot fork, and its children remain attributable.
    for (let before = -1, round = 0; before !== processes.length && round < MAX_STOP_ROUNDS; round++) {
      before = processes.length
      for (const each of processes) signalProcess(each, 'SIGSTOP')
      processes = findTree(pid, processes)
    }
    for (const each of processes) signalProcess(each, 'SIGKILL')
    server.giveUp(reason)
  }
  cancel = clock.after(CHECK_INTERVAL_MS, checkUsage)
  return () => cancel()
}

/** Scans of a tree while stopping it. */
const MAX_STOP_ROUNDS = 50

/** Measures the resident memory in bytes of each process with its descendants. Empty on other systems than Linux. */
export function measureTrees(pids: readonly number[]): ReadonlyMap<number, number> {
  const all = pids.length === 0 ? [] : listProcesses()
  const trees = pids.map(pid => [pid, findTree(pid, [], all)] as const)
  return new Map(trees.filter(([, tree]) => tree.length > 0).map(([pid, tree]) => [pid, sumResidentSizes(tree)]))
}

/** A process with its session, known members, and all descendants. */
function findTree(root: number, previous: readonly ProcessId[], all = listProcesses()): ProcessId[] {
  const wasKnown = new Set(previous.map(({ pid, start }) => `${pid} ${start}`))
  const members = new Set<number>()
  for (let size = -1; size < members.size;) {
    size = members.size
    for (const { pid, start, parent, session } of all)
      if (pid === root || session === root || members.has(parent) || wasKnown.has(`${pid} ${start}`)) members.add(pid)
  }
  return all.filter(({ pid }) => members.has(pid))
}

function countThreads(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

function describeExcess(processes: readonly ProcessId[], memory: number, maxTasks: number): string | undefined {
  const count = maxTasks === Infinity ? 0 : processes.reduce((sum, { pid }) => sum + countThreads(pid), 0)
  if (count > maxTasks) return `process limit exceeded: ${count} processes and threads, limit ${maxTasks}`
  const used = memory === Infinity ? 0 : sumResidentSizes(processes)
  if (used <= memory) return undefined
  return `memory limit exceeded: ${formatMebibytes(used)}, limit ${formatMebibytes(memory)}`
}

function sumResidentSizes(processes: readonly ProcessId[]): number {
  return processes.reduce((sum, { pid }) => sum + readResidentSize(pid), 0)
}

function readResidentSize(pid: number): number {
  const kibibytes = /^VmRSS:\s*(\d+) kB/m.exec(readOr(`/proc/${pid}/status`, ''))?.[1]
  return Number(kibibytes ?? 0) * KIBIBYTE
}

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
