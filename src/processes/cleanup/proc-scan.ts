import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { readProc, readProcSync } from '../../util/process/proc-files.ts'
import { MARK_VARIABLE } from '../environment.ts'

/** One process for certain: a number may be given to another process later, but not with the same start. */
export interface ProcessId {
  readonly pid: number
  /** Clock ticks from the start of the machine to the start of the process. */
  readonly start: string
}

/** One process as /proc shows it. */
export interface Seen extends ProcessId {
  readonly session: number
  /** Mark of the process, by this gateway or another. */
  readonly marks: readonly string[]
}

/** Files read at once, so that the pool of threads has room for others. */
const READERS = 2
/** Bytes of one environment that are read at once. */
const ENVIRONMENT = 16 * 1024

/** Every live process that could be seen and did not start before `since` (clock ticks). Reads /proc without blocking; elsewhere than on Linux there is nothing to see. */
export async function scanProcesses(since = 0): Promise<readonly Seen[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter(name => /^\d+$/.test(name)).map(Number)
  const found: Seen[] = []
  const rest = pids.values()
  const reader = async (): Promise<void> => {
    const buffer = Buffer.allocUnsafe(ENVIRONMENT)
    for (const pid of rest) {
      const seen = await look(pid, since, buffer)
      if (seen !== undefined) found.push(seen)
    }
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return found
}

/** Every live process of a session, whoever its parent is by now. Reads one short file of each process of the machine. */
export function membersOf(session: number): ProcessId[] {
  return namesIn('/proc').flatMap(name => {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined
    return stat?.session === session ? [{ pid, start: stat.start }] : []
  })
}

/** When a process started; undefined when there is none, or when it only waits to be reaped. */
export function startOf(pid: number): string | undefined {
  return readStat(pid)?.start
}

/** True when this very process still runs. */
export function isSame({ pid, start }: ProcessId): boolean {
  return startOf(pid) === start
}

function readStat(pid: number): { session: number; start: string } | undefined {
  try {
    return statOf(readProcSync(`/proc/${pid}/stat`))
  } catch {
    return undefined
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

async function look(pid: number, since: number, buffer: Buffer): Promise<Seen | undefined> {
  const stat = statOf(await readProc(`/proc/${pid}/stat`, buffer))
  // Reading the environment is the dear part.
  if (stat === undefined || Number(stat.start) < since) return undefined
  return { pid, ...stat, marks: marksIn(await readProc(`/proc/${pid}/environ`, buffer)) }
}

/** The name in brackets may hold anything, so what counts begins behind the last one (proc(5)). */
function statOf(stat: string): { session: number; start: string } | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state = 'X', , , session] = fields
  const start = fields[19]
  return start === undefined || 'ZX'.includes(state) ? undefined : { session: Number(session), start }
}

function marksIn(environment: string): readonly string[] {
  const at = environment.startsWith(`${MARK_VARIABLE}=`) ? 0 : environment.indexOf(`\0${MARK_VARIABLE}=`) + 1
  if (at === 0 && !environment.startsWith(`${MARK_VARIABLE}=`)) return []
  const end = environment.indexOf('\0', at)
  return environment.slice(at + MARK_VARIABLE.length + 1, end < 0 ? undefined : end).split(' ')
}
