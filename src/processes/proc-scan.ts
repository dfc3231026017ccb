import { close, closeSync, open, openSync, read, readSync, readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { MARK_VARIABLE } from './environment.ts'

/** Larger than most numeric /proc files; Node allocates buffers of this size from its pool. */
const SMALL = 2048
/** Maximum process environment size. */
const MAX_COUNT = 4 * 1024 * 1024

/**
 * Reads a whole /proc file as text; '' on failure. `buffer` may be reused for consecutive files. `readFile` allocates
 * 64 KiB per file, as /proc reports no sizes: 10 MiB of garbage for all processes of a machine.
 */
export function readProcFile(file: string, buffer: Buffer = Buffer.allocUnsafe(SMALL)): Promise<string> {
  return new Promise(resolve => {
    open(file, 'r', (error, descriptor) => {
      if (error !== null) resolve('')
      else readRest(descriptor, buffer, '', text => close(descriptor, () => resolve(text)))
    })
  })
}

function readRest(descriptor: number, buffer: Buffer, before: string, done: (text: string) => void): void {
  read(descriptor, buffer, 0, buffer.length, null, (error, bytes) => {
    if (error !== null) done('')
    else if (bytes === 0 || before.length >= MAX_COUNT) done(before)
    else readRest(descriptor, buffer, before + buffer.toString('latin1', 0, bytes), done)
  })
}

/** Reads a whole /proc file synchronously. Throws on failure. */
export function readProcFileSync(file: string): string {
  const buffer = Buffer.allocUnsafe(SMALL)
  const descriptor = openSync(file, 'r')
  try {
    let text = ''
    for (let bytes = -1; bytes !== 0 && text.length < MAX_COUNT;) {
      bytes = readSync(descriptor, buffer)
      text += buffer.toString('latin1', 0, bytes)
    }
    return text
  } finally {
    closeSync(descriptor)
  }
}

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
/** Bytes read from each environment. */
const MAX_ENVIRONMENT_BYTES = 16 * 1024

/**
 * Kills all processes with a matching mark; returns their pids. Linux only; a no-op on other systems.
 */
export async function killMarked(isOurs: (mark: string) => boolean): Promise<number[]> {
  const killed: ProcessId[] = []
  const pids = listPids().values()
  const reader = async (): Promise<void> => {
    const buffer = Buffer.allocUnsafe(MAX_ENVIRONMENT_BYTES)
    for (const pid of pids) {
      const stat = parseStat(pid, await readProcFile(`/proc/${pid}/stat`, buffer))
      if (stat === undefined || pid === process.pid) continue
      const marks = parseMarks(await readProcFile(`/proc/${pid}/environ`, buffer))
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
    return parseStat(pid, readProcFileSync(`/proc/${pid}/stat`))
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
