import { closeSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectorySync } from '../../src/plugin.ts'

const NAME = /^approvals-(\d+)\.jsonl$/

/** A call that was approved, as it is noted before its server hears of it. */
export interface Granted {
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
export class Journal {
  readonly #directory: string | undefined
  readonly #running = new Set<string>()
  #file: number | undefined

  /** Without a directory nothing is noted: then nothing outlives the process that could say so. */
  constructor(directory: string | undefined) {
    this.#directory = directory
  }

  /** Notes a call, on disk when this returns. @throws Error where it cannot be noted */
  begin(granted: Granted): void {
    if (this.#directory === undefined) return
    const file = this.#opened(this.#directory)
    writeSync(file, `${JSON.stringify(granted)}\n`)
    fsyncSync(file)
    this.#running.add(granted.id)
  }

  /** The call has ended, well or badly. */
  end(id: string): void {
    if (this.#file === undefined || !this.#running.delete(id)) return
    if (this.#running.size === 0) ftruncateSync(this.#file, 0)
    else writeSync(this.#file, `${JSON.stringify({ ended: id })}\n`)
  }

  /** Calls that processes began which are no more. Each is told once. */
  async leftOver(): Promise<Granted[]> {
    if (this.#directory === undefined) return []
    const directory = this.#directory
    const files = await readdir(directory).catch(() => [])
    const left: Granted[] = []
    for (const file of files) {
      const pid = Number(NAME.exec(file)?.[1] ?? NaN)
      const isOwn = pid === process.pid
      if (Number.isNaN(pid) || (isOwn ? this.#file !== undefined : isAlive(pid))) continue
      left.push(...runningIn(await readFile(join(directory, file), 'utf8')))
      await rm(join(directory, file), { force: true })
    }
    return left
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #opened(directory: string): number {
    if (this.#file === undefined) {
      makeDirectorySync(directory, 0o700)
      this.#file = openSync(join(directory, `approvals-${process.pid}.jsonl`), 'a', 0o600)
    }
    return this.#file
  }
}

function runningIn(text: string): Granted[] {
  const running = new Map<string, Granted>()
  for (const line of text.split('\n')) {
    const row = parsed(line)
    if (row?.ended !== undefined) running.delete(row.ended)
    else if (row?.id !== undefined) running.set(row.id, row as Granted)
  }
  return [...running.values()]
}

/** A line that was cut off by the crash is none. */
function parsed(line: string): (Partial<Granted> & { readonly ended?: string }) | undefined {
  try {
    return JSON.parse(line) as Granted
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
