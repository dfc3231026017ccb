import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDirectorySync } from '../../src/plugin.ts'

/** Larger than the longest line. */
const TAIL_BYTES = 1024 * 1024

/** Larger than a file's first line. */
const HEAD_BYTES = 4096

const NEWLINE = 0x0a

/** Audit line destination; tests substitute failing ones. All methods throw on failure. */
export interface Sink {
  open(): JournalContents
  /** Appends bytes; returns the number written, at least one. */
  write(bytes: Buffer): number
  /** Current size in bytes. */
  readonly size: number
  /** Rotates the file and begins an empty one; keeps at most `maxFiles` old files. */
  rotate(maxFiles: number): void
  close(): void
}

export interface JournalContents {
  /** First line; undefined if the file is empty. */
  readonly first: string | undefined
  /** Last complete line; undefined if there is none. */
  readonly last: string | undefined
  /** Size of an incomplete last line, left by a crash during a write. */
  readonly torn: number
  /** Removes the incomplete line. */
  cut(): void
}

/** Audit file that only its owner can read; `<file>.1` and so on are rotated files. */
export class JournalFile implements Sink {
  readonly #path: string
  #file: number | undefined = undefined
  size = 0

  constructor(path: string) {
    this.#path = path
  }

  open(): JournalContents {
    makeDirectorySync(dirname(this.#path), 0o700)
    const file = this.#reopen()
    const { last, torn } = readTail(file, this.size)
    const cut = (): void => {
      this.size -= torn
      ftruncateSync(file, this.size)
    }
    return { first: readFirst(file, this.size), last, torn, cut }
  }

  write(bytes: Buffer): number {
    const written = writeSync(this.#file ?? this.#reopen(), bytes)
    this.size += written
    return written
  }

  rotate(maxFiles: number): void {
    this.close()
    // A smaller `keep` must leave no gap, so older files are removed too.
    for (let number = maxFiles; ignoreMissing(() => rmSync(this.#getPath(number))); number++);
    for (let number = maxFiles; number >= 1; number--)
      ignoreMissing(() => renameSync(this.#getPath(number - 1), this.#getPath(number)))
    this.#reopen()
  }

  close(): void {
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) closeSync(file)
  }

  #getPath(number: number): string {
    return number === 0 ? this.#path : `${this.#path}.${number}`
  }

  #reopen(): number {
    this.#file = openSync(this.#path, 'a+', 0o600)
    this.size = fstatSync(this.#file).size
    return this.#file
  }
}

function readTail(file: number, size: number): Pick<JournalContents, 'last' | 'torn'> {
  const tail = readBytes(file, Math.max(0, size - TAIL_BYTES), size)
  const end = tail.lastIndexOf(NEWLINE)
  const torn = tail.length - end - 1
  if (end < 0) return { last: undefined, torn }
  const begin = end === 0 ? 0 : tail.lastIndexOf(NEWLINE, end - 1) + 1
  return { last: tail.toString('utf8', begin, end), torn }
}

function readFirst(file: number, size: number): string | undefined {
  const head = readBytes(file, 0, Math.min(size, HEAD_BYTES))
  const end = head.indexOf(NEWLINE)
  return end < 0 ? undefined : head.toString('utf8', 0, end)
}

function readBytes(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from)
  readSync(file, bytes, 0, bytes.length, from)
  return bytes
}

/** Returns false if the file is missing. */
function ignoreMissing(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Writes audit lines to stderr, because stdout carries the protocol. */
export const STDERR: Sink = {
  size: 0,
  open: () => ({ first: undefined, last: undefined, torn: 0, cut: () => undefined }),
  write(bytes) {
    process.stderr.write(bytes)
    return bytes.length
  },
  rotate: () => undefined,
  close: () => undefined,
}
