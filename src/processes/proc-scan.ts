import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { MARK_VARIABLE } from './environment.ts'

/** Unique process identity: pids are reused, but not with the same start time. */
export interface ProcessId {
  readonly pid: number
  /** Start time in clock ticks since boot. */
  readonly start: string
}

/** Fields from /proc/<pid>/stat. */
interface ProcessStat extends ProcessId {
  readonly parent: number
  readonly session: number
}

/** Concurrent reads, low to spare the thread pool. */
const MAX_READERS = 2
/** Interval between checks that killed processes are gone. */
const PAUSE_MS = 10
const MAX_ROUNDS = 100

/**
 * Kills all processes with a matching mark; returns their pids. Linux only; a no-op on other systems.
 */
export async function killMarked(isOurs: (mark: string) => boolean): Promise<number[]> {
  const killed: ProcessId[] = []
  const pids = listPids().values()
  const reader = async (): Promise<void> => {
    for (const pid of pids) {
      const stat = parseStat(pid, await readProcFile(`/proc/${pid}/stat`))
      if (stat === undefined || pid === process.pid) continue
      const marks = parseMarks(await readProcFile(`/proc/${pid}/environ`))
      if (marks.some(isOurs) && signalProcess(stat, 'SIGKILL')) killed.push(stat)
    }
  }
  await Promise.all(Array.from({ length: MAX_READERS }, reader))
  // Signals take effect asynchronously.
  for (let round = 0; round < MAX_ROUNDS && killed.some(isSameProcess); round++) await setTimeout(PAUSE_MS)
  return killed.map(({ pid }) => pid)
}

/** Signals a process after verifying its identity. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals): boolean {
  try {
    return isSameProcess(id) && process.kill(id.pid, signal)
  } catch {
    return false
  }
}

function readProcFile(file: string): Promise<string> {
  return readFile(file, 'latin1').catch(() => '')
}

/** Lists all live processes. */
export function listProcesses(): ProcessStat[] {
  return listPids().flatMap(pid => readStat(pid) ?? [])
}

/** Process start time; undefined if the process is missing or a zombie. */
export function readStartTime(pid: number): string | undefined {
  return readStat(pid)?.start
}

/** True if this exact process still runs. */
export function isSameProcess({ pid, start }: ProcessId): boolean {
  return readStartTime(pid) === start
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'latin1'))
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

/** The name in parentheses may contain anything, so parse after the last one (proc(5)). */
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
