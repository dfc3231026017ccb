import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hash } from 'node:crypto'
import { makeDirectory } from '../../src/plugin.ts'

/** Previous hash of the very first line. */
export const BEGINNING = '0'.repeat(64)

const END = /,"hash":"([0-9a-f]{64})"\}$/

const TAIL = `,"hash":"${BEGINNING}"}`.length

/** Larger than the longest line. */
const TAIL_BYTES = 1024 * 1024

/** Larger than a file's first line. */
const HEAD_BYTES = 4096

const NEWLINE = 0x0a

/** Audit line destination; tests substitute failing ones. */
export interface Sink {
  open(): Promise<JournalContents>
  /** Appends bytes and resolves with the number written; rejects if none could be written. */
  write(bytes: Buffer): Promise<number>
  writeSync(bytes: Buffer): number
  /** Current size in bytes. */
  readonly size: number
  /** Rotates the file and begins an empty one; keeps at most `keep` old files. */
  rotate(maxFiles: number): Promise<void>
  close(): Promise<void>
}

export interface JournalContents {
  /** First line; undefined if the file is empty. */
  readonly first: string | undefined
  /** Last complete line; undefined if there is none. */
  readonly last: string | undefined
  /** Size of an incomplete last line, left by a crash during a write. */
  readonly torn: number
  /** Removes the incomplete line. */
  cut(): Promise<void>
}

/** Audit file that only its owner can read; `<file>.1` and so on are rotated files. */
export class JournalFile implements Sink {
  readonly #path: string
  #handle: FileHandle | undefined = undefined
  size = 0

  constructor(path: string) {
    this.#path = path
  }

  async open(): Promise<JournalContents> {
    await makeDirectory(dirname(this.#path), 0o700)
    const handle = await open(this.#path, 'a+', 0o600)
    this.#handle = handle
    this.size = (await handle.stat()).size
    const first = await readFirst(handle, this.size)
    const { last, torn } = await readTail(handle, this.size)
    const cut = async (): Promise<void> => {
      this.size -= torn
      await handle.truncate(this.size)
    }
    return { first, last, torn, cut }
  }

  async write(bytes: Buffer): Promise<number> {
    const handle = this.#handle ?? (await this.#reopen())
    const { bytesWritten } = await handle.write(bytes)
    this.size += bytesWritten
    return bytesWritten
  }

  writeSync(bytes: Buffer): number {
    if (this.#handle === undefined) return 0
    const written = writeSync(this.#handle.fd, bytes)
    this.size += written
    return written
  }

  async rotate(maxFiles: number): Promise<void> {
    await this.close()
    await this.#removeOlder(maxFiles)
    for (let number = maxFiles; number >= 1; number--)
      await rename(this.#getPath(number - 1), this.#getPath(number)).catch(ignoreMissing)
    await this.#reopen()
  }

  /** Removes a rotated file and all older ones, so that a smaller `keep` leaves no gap. */
  async #removeOlder(number: number): Promise<void> {
    while (await rm(this.#getPath(number)).then(isRemoved, ignoreMissing)) number++
  }

  #getPath(number: number): string {
    return number === 0 ? this.#path : `${this.#path}.${number}`
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }

  async #reopen(): Promise<FileHandle> {
    const handle = await open(this.#path, 'a+', 0o600)
    this.#handle = handle
    this.size = (await handle.stat()).size
    return handle
  }
}

async function readTail(handle: FileHandle, size: number): Promise<{ last: string | undefined; torn: number }> {
  const start = Math.max(0, size - TAIL_BYTES)
  const tail = Buffer.alloc(size - start)
  await handle.read(tail, 0, tail.length, start)
  const end = tail.lastIndexOf(NEWLINE)
  const torn = tail.length - end - 1
  if (end < 0) return { last: undefined, torn }
  const begin = end === 0 ? 0 : tail.lastIndexOf(NEWLINE, end - 1) + 1
  return { last: tail.toString('utf8', begin, end), torn }
}

async function readFirst(handle: FileHandle, size: number): Promise<string | undefined> {
  const head = Buffer.alloc(Math.min(size, HEAD_BYTES))
  await handle.read(head, 0, head.length, 0)
  const end = head.indexOf(NEWLINE)
  return end < 0 ? undefined : head.toString('utf8', 0, end)
}

const isRemoved = (): true => true

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** Appends a hash over the line and the previous hash. */
export function chainLine(line: string, before: string): { readonly line: string; readonly hash: string } {
  const body = line.slice(0, -1)
  const own = hash('sha256', before + body, 'hex')
  return { line: `${body},"hash":"${own}"}`, hash: own }
}

/** Returns undefined if the line has no hash. */
export function parseHash(line: string): string | undefined {
  return END.exec(line)?.[1]
}

/**
 * Parses the rotated file count from a file's first line. Undefined for any other line: then earlier lines were
 * removed.
 */
export function parseKeptCount(line: string | undefined): number | undefined {
  if (line === undefined || parseHash(line) === undefined) return undefined
  try {
    const { kind, kept } = JSON.parse(line) as { kind?: unknown; kept?: unknown }
    return kind === 'opened' && typeof kept === 'number' ? kept : undefined
  } catch {
    return undefined
  }
}

/** True if the line matches its hash, given the previous hash. */
export function isIntact(line: Buffer, before: string): boolean {
  const noted = parseHash(line.toString('latin1'))
  const body = line.subarray(0, line.length - TAIL)
  return noted !== undefined && noted === hash('sha256', Buffer.concat([Buffer.from(before), body]), 'hex')
}

/** Writes audit lines to stderr, because stdout carries the protocol. */
export class JournalStderr implements Sink {
  readonly #write: (text: Buffer) => void
  readonly size = 0

  constructor(write: (text: Buffer) => void) {
    this.#write = write
  }

  open(): Promise<JournalContents> {
    return Promise.resolve({ first: undefined, last: undefined, torn: 0, cut: () => Promise.resolve() })
  }

  write(bytes: Buffer): Promise<number> {
    return Promise.resolve(this.writeSync(bytes))
  }

  writeSync(bytes: Buffer): number {
    this.#write(bytes)
    return bytes.length
  }

  rotate(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
