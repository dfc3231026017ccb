import { hash } from 'node:crypto'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock, Log } from '../../src/plugin.ts'
import { getErrorMessage, makeDirectorySync } from '../../src/plugin.ts'

/** Larger than the longest line. */
const TAIL_BYTES = 1024 * 1024

/** Larger than a file's first line. */
const HEAD_BYTES = 4096

const NEWLINE = 0x0a

/** Audit line destination. All methods throw on failure. */
export interface Sink {
  open(): JournalContents
  /** Appends all bytes, or none. */
  append(bytes: Buffer): void
  /** Current size in bytes. */
  readonly size: number
  /** Closes and renames the file; keeps at most `maxFiles` old files. */
  rotate(maxFiles: number): void
  close(): void
}

export interface JournalContents {
  /** First line; undefined if the file is empty. */
  readonly first: string | undefined
  /** Last complete line; undefined if there is none. */
  readonly last: string | undefined
  /** Bytes in a removed incomplete line, left by a crash during a write. */
  readonly torn: number
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
    this.close()
    makeDirectorySync(dirname(this.#path), 0o700)
    const file = (this.#file = openSync(this.#path, 'a+', 0o600))
    const { size } = fstatSync(file)
    const tail = readBytes(file, Math.max(0, size - TAIL_BYTES), size)
    const end = tail.lastIndexOf(NEWLINE)
    const torn = tail.length - end - 1
    if (torn > 0) ftruncateSync(file, size - torn)
    this.size = size - torn
    if (end < 0) return { first: undefined, last: undefined, torn }
    const begin = end === 0 ? 0 : tail.lastIndexOf(NEWLINE, end - 1) + 1
    const head = readBytes(file, 0, Math.min(size, HEAD_BYTES))
    return { first: head.toString('utf8', 0, head.indexOf(NEWLINE)), last: tail.toString('utf8', begin, end), torn }
  }

  append(bytes: Buffer): void {
    if (this.#file === undefined) throw new Error('the audit file is closed')
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(this.#file, bytes, written)
      this.size += written
    } catch (error) {
      if (written > 0) ftruncateSync(this.#file, fstatSync(this.#file).size - written)
      throw error
    }
  }

  rotate(maxFiles: number): void {
    this.close()
    // A smaller `keep` must leave no gap, so older files are removed too.
    for (let number = maxFiles; ignoreMissing(() => rmSync(this.#getPath(number))); number++);
    for (let number = maxFiles; number >= 1; number--)
      ignoreMissing(() => renameSync(this.#getPath(number - 1), this.#getPath(number)))
  }

  close(): void {
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) closeSync(file)
  }

  #getPath(number: number): string {
    return number === 0 ? this.#path : `${this.#path}.${number}`
  }
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
  open: () => ({ first: undefined, last: undefined, torn: 0 }),
  append: bytes => void process.stderr.write(bytes),
  rotate: () => undefined,
  close: () => undefined,
}

export interface JournalSettings {
  /** File size in bytes that triggers rotation. */
  readonly maxSize: number
  readonly keep: number
  readonly chain: boolean
}

export interface AuditJournalDeps {
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Log
  /** Formats a line about the journal itself. */
  note(kind: string, fields: object): string
}

/**
 * Minimum delay between writes. After an idle period, a line is written immediately, because its caller may terminate
 * the gateway next.
 */
const FLUSH_MS = 20
/** Lines that trigger an immediate write. */
const MANY_LINES = 256
const RETRY_MS = 1000
/** Bounds on unwritten lines and bytes. */
const MAX_LINES = 20_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** Writes audit lines in order and in batches, with a bounded buffer and an optional hash chain. */
export class AuditJournal {
  /** Generations that use the journal; the last one closes it. */
  owners = 0
  /** Lines dropped since startup because the buffer was full. */
  lost = 0
  #settings: JournalSettings
  readonly #deps: AuditJournalDeps
  #lines: string[] = []
  #characters = 0
  #hash: string | undefined = undefined
  /** Rotated files in the chain, recorded in each file's first line. */
  #keptFileCount = 0
  #isOpen = false
  #isFailing = false
  #unreported = 0
  #flushedAt = -Infinity
  #stopTimer: (() => void) | undefined = undefined

  constructor(settings: JournalSettings, deps: AuditJournalDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  /** True if buffered lines may never be written. */
  get isFailing(): boolean {
    return this.#isFailing || this.#isFull
  }

  /** Opens the sink; on failure retries later. @throws Error on failure, if `isStrict` */
  open(settings: JournalSettings, isStrict: boolean): void {
    if (settings.chain !== this.#settings.chain) {
      this.#closeFile()
      this.#hash = undefined
    }
    this.#settings = settings
    try {
      this.#openFile()
    } catch (error) {
      if (isStrict) throw error
      this.#recordFailure(error)
    }
  }

  /** Adds a line to the buffer; does no I/O unless many lines wait. */
  add(line: string): void {
    if (this.#isFull) {
      this.lost++
      this.#unreported++
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
    const { clock } = this.#deps
    if (this.#lines.length === MANY_LINES) this.flush()
    else this.#stopTimer ??= clock.after(Math.max(0, this.#flushedAt + FLUSH_MS - clock.now()), this.flush)
  }

  /** Writes buffered lines. On failure they stay buffered and are retried. */
  readonly flush = (): void => {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#flushedAt = this.#deps.clock.now()
    try {
      this.#write()
    } catch (error) {
      this.#recordFailure(error)
      return
    }
    if (this.#isFailing) this.#deps.log.warn('audit log resumed', { lost: this.#unreported })
    this.#isFailing = false
    const lines = this.#unreported
    this.#unreported = 0
    if (lines > 0) this.add(this.#deps.note('lost', { lines }))
  }

  close(): void {
    this.flush()
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#closeFile()
  }

  get #isFull(): boolean {
    return this.#lines.length >= MAX_LINES || this.#characters >= MAX_CHARACTERS
  }

  #write(): void {
    if (this.#lines.length === 0 && !this.#isOpen) return
    this.#openFile()
    this.#append(this.#lines)
    this.#lines = []
    this.#characters = 0
    if (this.#deps.sink.size > this.#settings.maxSize) this.#rotate(this.#keptFileCount + 1)
  }

  /** Opens the file, and writes its opening line with the rotated file count. */
  #openFile(): void {
    if (this.#isOpen) return
    const { chain } = this.#settings
    const { first, last, torn } = this.#deps.sink.open()
    if (last !== undefined) this.#keptFileCount = parseKeptCount(first) ?? 0
    if (chain) this.#hash ??= last === undefined ? BEGINNING : parseHash(last)
    // A file without a chain cannot be continued with one, nor be verified.
    if (chain && this.#hash === undefined) return this.#rotate(0)
    this.#append([this.#createOpening(last === undefined, torn)])
    this.#isOpen = true
  }

  #createOpening(isFirst: boolean, torn: number): string {
    const links = this.#settings.chain ? { previous: this.#hash } : {}
    const keptField = this.#settings.chain && isFirst ? { kept: this.#keptFileCount } : {}
    return this.#deps.note('opened', { ...links, ...keptField, ...(torn > 0 ? { torn } : {}) })
  }

  /** Begins a new file that links to the previous one. */
  #rotate(keptFileCount: number): void {
    const { keep } = this.#settings
    this.#isOpen = false
    this.#deps.sink.rotate(keep)
    this.#keptFileCount = Math.min(keptFileCount, keep)
    this.#openFile()
  }

  #closeFile(): void {
    this.#deps.sink.close()
    this.#isOpen = false
  }

  #append(lines: readonly string[]): void {
    if (lines.length === 0) return
    let hash = this.#hash ?? BEGINNING
    let text = ''
    for (const line of lines) {
      const next = this.#settings.chain ? chainLine(line, hash) : { line, hash }
      text += `${next.line}\n`
      hash = next.hash
    }
    this.#deps.sink.append(Buffer.from(text))
    if (this.#settings.chain) this.#hash = hash
  }

  #recordFailure(error: unknown): void {
    if (!this.#isFailing) this.#deps.log.error('cannot write audit log', { reason: getErrorMessage(error) })
    this.#isFailing = true
    this.#stopTimer ??= this.#deps.clock.after(RETRY_MS, this.flush)
  }
}

/** Previous hash of the very first line. */
export const BEGINNING = '0'.repeat(64)

const END = /,"hash":"([0-9a-f]{64})"\}$/

const TAIL = `,"hash":"${BEGINNING}"}`.length

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
