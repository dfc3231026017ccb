import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeDirectorySync } from '../../src/plugin.ts'

/** File name: process id, plus a random suffix if claimed from a dead process. */
const NAME = /^approvals-(\d+)(?:-\w+)?\.jsonl$/

/** Files that journals in this process have claimed and not yet forgotten. */
const takenHere = new Set<string>()

/** An approved call, recorded before it is sent upstream. */
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
 * Records approved calls in progress, in one file per process. Entries found after a crash have an unknown outcome:
 * they are reported, never rerun.
 */
export class ApprovalJournal {
  readonly #directory: string | undefined
  readonly #running = new Set<string>()
  /** Files claimed from dead processes. */
  readonly #claimed = new Set<string>()
  #file: number | undefined

  /** Without a directory nothing is recorded. */
  constructor(directory: string | undefined) {
    this.#directory = directory
  }

  /** Records a call; synced to disk on return. @throws Error if it cannot be written */
  recordStart(granted: GrantedCall): void {
    if (this.#directory === undefined) return
    appendLine(this.#openFile(this.#directory), granted)
    this.#running.add(granted.id)
  }

  /**
   * Records that a call ended.
   * @throws Error if it cannot be written: after a crash the call would be reported as unfinished
   */
  recordEnd(id: string): void {
    if (this.#file === undefined || !this.#running.delete(id)) return
    if (this.#running.size === 0) ftruncateSync(this.#file, 0)
    else appendLine(this.#file, { ended: id })
  }

  /**
   * Returns unfinished calls of dead processes. Each file is claimed by one process and remains until
   * `forgetClaimed`, so a crash while reporting leaves it for the next one.
   */
  async claimUnfinished(): Promise<GrantedCall[]> {
    if (this.#directory === undefined) return []
    const unfinished: GrantedCall[] = []
    for (const name of await readdir(this.#directory).catch(() => [])) {
      if (!this.#isAbandoned(name)) continue
      const own = `approvals-${process.pid}-${randomBytes(6).toString('hex')}.jsonl`
      const text = await this.#claimFile(join(this.#directory, name), join(this.#directory, own))
      if (text !== undefined) unfinished.push(...parseRunning(text))
    }
    return unfinished
  }

  /** Deletes the claimed files after their calls were reported. */
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
    // A previous process may have had the same pid, for example in a container.
    return this.#file === undefined && !takenHere.has(name)
  }

  /** Renames a file to claim it; returns undefined if another process was faster. */
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

/** Appends a line and syncs it, or writes nothing. @throws Error if the disk is full */
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

/** Ignores a line that a crash truncated. */
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
