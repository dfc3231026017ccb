import { readFileSync } from 'node:fs'
import type { CeilingsConfig } from '../config/config.gen.ts'
import type { Clock } from '../core/ports.ts'
import { parseDuration, parseSize } from '../util/units.ts'
import { descendantsOf } from './process-descendants.ts'

const KIBIBYTE = 1024
/** What runtimes reserve without using it (V8: 512 MiB for code), so the hard wall stands this much further out. */
const RESERVED = 1024 * 1024 * 1024
const WATCH_MS = 1000

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
export function belowCeilings(
  ceilings: CeilingsConfig | undefined,
  argv: readonly string[],
  isSandboxed: boolean,
): readonly string[] {
  const pairs = ceilings === undefined ? [] : pairsOf(ceilings, isSandboxed)
  return pairs.length === 0 ? argv : ['/bin/sh', '-c', SCRIPT, 'tapgate-ceilings', ...pairs, '--', ...argv]
}

function pairsOf({ memory, pids, files, fileSize, cpuTime }: CeilingsConfig, isSandboxed: boolean): string[] {
  const pairs: [string, number | undefined][] = [
    ['-d', memory === undefined ? undefined : Math.ceil((parseSize(memory) + RESERVED) / KIBIBYTE)],
    // The kernel counts all processes of the user, but those of a sandbox by themselves.
    ['-u', pids === undefined ? undefined : pids + (isSandboxed ? 0 : tasks())],
    ['-n', files],
    ['-f', fileSize === undefined ? undefined : Math.ceil(parseSize(fileSize) / 512)],
    ['-t', cpuTime === undefined ? undefined : Math.max(1, Math.ceil(parseDuration(cpuTime) / 1000))],
  ]
  return pairs.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]))
}

/** Which ceilings this machine does not keep, as one line for people; undefined when it keeps them all. */
export function notKept(
  ceilings: CeilingsConfig | undefined,
  platform: string,
  userId: number | undefined,
): string | undefined {
  if (ceilings === undefined) return undefined
  if (platform === 'win32') return 'Windows has no resource limits that a parent could set'
  if (platform !== 'linux' && (ceilings.memory ?? ceilings.pids) !== undefined)
    return 'memory and pids are watched on Linux only; here they are hard limits of single processes'
  if (ceilings.pids !== undefined && userId === 0)
    return 'the kernel sets root no limit of processes: pids is only watched, once a second'
  return undefined
}

/** Looks every second at what a process and all it started use together; `over` hears once that it is too much. Linux only. */
export function watchCeilings(
  ceilings: CeilingsConfig | undefined,
  pid: number | undefined,
  clock: Clock,
  over: (why: string) => void,
): () => void {
  if (ceilings === undefined || pid === undefined || process.platform !== 'linux') return () => undefined
  const memory = ceilings.memory === undefined ? Infinity : parseSize(ceilings.memory)
  const most = ceilings.pids ?? Infinity
  if (memory === Infinity && most === Infinity) return () => undefined
  let takeBack = (): void => undefined
  const look = (): void => {
    const why = excess([pid, ...descendantsOf(pid).map(descendant => descendant.pid)], memory, most)
    if (why !== undefined) return over(why)
    takeBack = clock.after(WATCH_MS, look)
  }
  takeBack = clock.after(WATCH_MS, look)
  return () => takeBack()
}

function excess(pids: readonly number[], memory: number, most: number): string | undefined {
  if (pids.length > most) return `it had ${pids.length} processes, and may have ${most}`
  const used = memory === Infinity ? 0 : pids.reduce((sum, pid) => sum + residentOf(pid), 0)
  if (used <= memory) return undefined
  return `it used ${mebibytes(used)} of memory, and may use ${mebibytes(memory)}`
}

function residentOf(pid: number): number {
  const kibibytes = /^VmRSS:\s*(\d+) kB/m.exec(readOr(`/proc/${pid}/status`, ''))?.[1]
  return Number(kibibytes ?? 0) * KIBIBYTE
}

/** Processes and threads of the whole machine: at least as many as the user's. */
function tasks(): number {
  return Number(/\/(\d+) /.exec(readOr('/proc/loadavg', ''))?.[1] ?? 4096)
}

function readOr(file: string, fallback: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return fallback
  }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`
}
