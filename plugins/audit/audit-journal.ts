import { hash } from 'node:crypto'
import type { Clock, Log } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import type { Sink } from './journal-file.ts'

interface JournalSettings {
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
const EMPTY = Buffer.alloc(0)

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
  /** Bytes not yet written. */
  #pending: Buffer = EMPTY
  #hash: string | undefined = undefined
  /** Rotated files in the chain, recorded in each file's first line. */
  #keptFileCount = 0
  #isOpen = false
  /** True if a rotation failed and must be retried. */
  #isRotating = false
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
    this.#settings = settings
    try {
      this.#openSink()
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
    this.#deps.sink.close()
    this.#isOpen = false
  }

  get #isFull(): boolean {
    return this.#lines.length >= MAX_LINES || this.#characters >= MAX_CHARACTERS
  }

  #write(): void {
    if (this.#lines.length > 0 || this.#isOpen) this.#openSink()
    if (this.#isRotating) this.#rotateFile()
    const lines = this.#lines
    this.#lines = []
    this.#characters = 0
    this.#addLines(lines)
    this.#drain()
    const { sink } = this.#deps
    if (this.#isOpen && sink.size > this.#settings.maxSize) this.#rotateFile()
  }

  /** Writes pending bytes; those that cannot be written stay pending. */
  #drain(): void {
    while (this.#pending.length > 0) this.#pending = this.#pending.subarray(this.#deps.sink.write(this.#pending))
  }

  #openSink(): void {
    if (!this.#isOpen) this.#continueFile()
    this.#drain()
    // A file without a chain cannot be continued with one.
    if (this.#settings.chain && this.#hash === undefined) this.#rotateFile()
  }

  #continueFile(): void {
    const { chain } = this.#settings
    const { first, last, torn, cut } = this.#deps.sink.open()
    this.#hash = last === undefined ? BEGINNING : parseHash(last)
    this.#keptFileCount = parseKeptCount(first) ?? 0
    this.#isOpen = true
    // Without a chain, the torn line may belong to another writer; keep it.
    if (torn > 0 && chain) cut()
    else if (torn > 0) this.#pending = Buffer.from('\n')
    if (!chain || this.#hash !== undefined) this.#addOpening(last === undefined, torn)
  }

  /** Begins a new file that links to the previous one. */
  #rotateFile(): void {
    this.#isRotating = true
    this.#deps.sink.rotate(this.#settings.keep)
    this.#isRotating = false
    // A file without a chain cannot be verified, so the count restarts.
    this.#keptFileCount = this.#hash === undefined ? 0 : Math.min(this.#keptFileCount + 1, this.#settings.keep)
    this.#hash ??= BEGINNING
    this.#addOpening(true, 0)
    this.#drain()
  }

  /** Adds a file's first line, which records the rotated file count. */
  #addOpening(isFirst: boolean, torn: number): void {
    const previous = this.#settings.chain ? { previous: this.#hash } : {}
    const keptField = this.#settings.chain && isFirst ? { kept: this.#keptFileCount } : {}
    this.#addLines([this.#deps.note('opened', { ...previous, ...keptField, ...(torn > 0 ? { torn } : {}) })])
  }

  #addLines(lines: readonly string[]): void {
    let text = ''
    for (const line of lines) text += `${this.#linkLine(line)}\n`
    const bytes = Buffer.from(text)
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
  }

  #linkLine(line: string): string {
    if (!this.#settings.chain) {
      this.#hash = undefined
      return line
    }
    const next = chainLine(line, this.#hash ?? BEGINNING)
    this.#hash = next.hash
    return next.line
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
