import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeDirectorySync } from '../../src/plugin.ts'

/** Name of a file: the process that it belongs to, and a word of its own where that process has taken it from a dead one. */
const NAME = /^approvals-(\d+)(?:-\w+)?\.jsonl$/

/** Names of files of others that journals of this process have taken, and still tell of. */
const takenHere = new Set<string>()

/** A call that was approved, as it is noted before its server hears of it. */
export interface GrantedCall {
  readonly id: string
  readonly digest: string
  readonly method: string
  readonly name: string
  readonly upstream: string
  readonly rule: string
  readonly by: string
}

/**
 * Notes of calls that were approved and are under way, one file for each process. What is there after a crash was begun, and
 * nobody knows how it ended: it is told, and never run again.
 */
export class ApprovalJournal {
  readonly #directory: string | undefined
  readonly #running = new Set<string>()
  /** Files of dead processes that this one tells of. */
  readonly #claimed = new Set<string>()
  #file: number | undefined

  /** Without a directory nothing is noted: then nothing outlives the process that could say so. */
  constructor(directory: string | undefined) {
    this.#directory = directory
  }

  /** Notes a call, on disk when this returns. @throws Error where it cannot be noted */
  recordStart(granted: GrantedCall): void {
    if (this.#directory === undefined) return
    appendLine(this.#openFile(this.#directory), granted)
    this.#running.add(granted.id)
  }

  /**
   * The call has ended, well or badly.
   * @throws Error where that cannot be noted: after a crash it would be told as one that nobody knows the end of
   */
  recordEnd(id: string): void {
    if (this.#file === undefined || !this.#running.delete(id)) return
    if (this.#running.size === 0) ftruncateSync(this.#file, 0)
    else appendLine(this.#file, { ended: id })
  }

  /**
   * Calls that processes began which are no more. One process alone tells of each file, and until `forget` the file stays:
   * a process that is killed while it tells leaves it to the next.
   */
  async claimUnfinished(): Promise<GrantedCall[]> {
    if (this.#directory === undefined) return []
    const left: GrantedCall[] = []
    for (const name of await readdir(this.#directory).catch(() => [])) {
      if (!this.#isAbandoned(name)) continue
      const own = `approvals-${process.pid}-${randomBytes(6).toString('hex')}.jsonl`
      const text = await this.#claimFile(join(this.#directory, name), join(this.#directory, own))
      if (text !== undefined) left.push(...parseRunning(text))
    }
    return left
  }

  /** Those that were left over have been told. */
  async forgetClaimed(): Promise<void> {
    for (const file of this.#claimed) await rm(file, { force: true })
    this.#releaseFile()
    this.#claimed.clear()
  }

  #releaseFile(): void {
    for (const file of this.#claimed) takenHere.delete(basename(file))
  }

  #isAbandoned(name: string): boolean {
    const pid = Number(NAME.exec(name)?.[1] ?? NaN)
    if (Number.isNaN(pid)) return false
    if (pid !== process.pid) return !isAlive(pid)
    // An earlier process may have had the same number, as in a container.
    return this.#file === undefined && !takenHere.has(name)
  }

  /** Moves a file to a name of this process; undefined where another one was quicker. */
  async #claimFile(file: string, own: string): Promise<string | undefined> {
    takenHere.add(basename(own))
    try {
      await rename(file, own)
    } catch {
      takenHere.delete(basename(own))
      return undefined
    }
    this.#claimed.add(own)
    return readFile(own, 'utf8')
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
    this.#releaseFile()
  }

  #openFile(directory: string): number {
    if (this.#file === undefined) {
      makeDirectorySync(directory, 0o700)
      this.#file = openSync(join(directory, `approvals-${process.pid}.jsonl`), 'a', 0o600)
    }
    return this.#file
  }
}

/** Adds a line, on disk when this returns, or nothing. @throws Error where there is no room for all of it */
function appendLine(file: number, row: object): void {
  const line = Buffer.from(`${JSON.stringify(row)}\n`)
  const { size } = fstatSync(file)
  try {
    for (let written = 0; written < line.length;) written += writeSync(file, line, written)
    fsyncSync(file)
  } catch (error) {
    ftruncateSync(file, size)
    throw error
  }
}

function parseRunning(text: string): GrantedCall[] {
  const running = new Map<string, GrantedCall>()
  for (const line of text.split('\n')) {
    const row = parseLine(line)
    if (row?.ended !== undefined) running.delete(row.ended)
    else if (row?.id !== undefined) running.set(row.id, row as GrantedCall)
  }
  return [...running.values()]
}

/** A line that was cut off by the crash is none. */
function parseLine(line: string): (Partial<GrantedCall> & { readonly ended?: string }) | undefined {
  try {
    return JSON.parse(line) as GrantedCall
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
