import { readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { readProc, readProcSync } from '../util/process/proc-files.ts'
import { MARK_VARIABLE } from './environment.ts'

/** One process for certain: a number may be given to another process later, but not with the same start. */
export interface ProcessId {
  readonly pid: number
  /** Clock ticks from the start of the machine to the start of the process. */
  readonly start: string
}

/** One process as /proc shows it. */
interface ProcessStat extends ProcessId {
  readonly parent: number
  readonly session: number
}

/** Files read at once, so that the pool of threads has room for others. */
const MAX_READERS = 2
/** Waits for what was killed to be gone. */
const PAUSE_MS = 10
const MAX_ROUNDS = 100
/** Bytes of one environment that are read at once. */
const MAX_ENVIRONMENT_BYTES = 16 * 1024

/**
 * Ends every process of the machine with a mark that fits and that did not start before `since` (clock ticks); returns their
 * ids. Linux only, without blocking; elsewhere there is nothing to see.
 */
export async function killMarked(isOurs: (mark: string) => boolean, since = 0): Promise<number[]> {
  const ended: ProcessId[] = []
  const rest = listPids().values()
  const reader = async (): Promise<void> => {
    const buffer = Buffer.allocUnsafe(MAX_ENVIRONMENT_BYTES)
    for (const pid of rest) {
      const stat = parseStat(pid, await readProc(`/proc/${pid}/stat`, buffer))
      // Reading the environment is the dear part.
      if (stat === undefined || Number(stat.start) < since || pid === process.pid) continue
      const marks = parseMarks(await readProc(`/proc/${pid}/environ`, buffer))
      if (marks.some(isOurs) && signalProcess(stat, 'SIGKILL')) ended.push(stat)
    }
  }
  await Promise.all(Array.from({ length: MAX_READERS }, reader))
  // A signal takes a moment.
  for (let round = 0; round < MAX_ROUNDS && ended.some(isSameProcess); round++) await setTimeout(PAUSE_MS)
  return ended.map(({ pid }) => pid)
}

/** Checks again who it is, and signals in the same breath. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals): boolean {
  try {
    return isSameProcess(id) && process.kill(id.pid, signal)
  } catch {
    return false
  }
}

/** Every live process of the machine: reads one short file of each. */
export function listProcesses(): ProcessStat[] {
  return listPids().flatMap(pid => readStat(pid) ?? [])
}

/** When a process started; undefined when there is none, or when it only waits to be reaped. */
export function readStartTime(pid: number): string | undefined {
  return readStat(pid)?.start
}

/** True when this very process still runs. */
export function isSameProcess({ pid, start }: ProcessId): boolean {
  return readStartTime(pid) === start
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(pid, readProcSync(`/proc/${pid}/stat`))
  } catch {
    return undefined
  }
}

function listPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** The name in brackets may hold anything, so what counts begins behind the last one (proc(5)). */
function parseStat(pid: number, stat: string): ProcessStat | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state = 'X', parent, , session] = fields
  const start = fields[19]
  if (start === undefined || 'ZX'.includes(state)) return undefined
  return { pid, start, parent: Number(parent), session: Number(session) }
}

function parseMarks(environment: string): readonly string[] {
  const at = environment.startsWith(`${MARK_VARIABLE}=`) ? 0 : environment.indexOf(`\0${MARK_VARIABLE}=`) + 1
  if (at === 0 && !environment.startsWith(`${MARK_VARIABLE}=`)) return []
  const end = environment.indexOf('\0', at)
  return environment.slice(at + MARK_VARIABLE.length + 1, end < 0 ? undefined : end).split(' ')
}
