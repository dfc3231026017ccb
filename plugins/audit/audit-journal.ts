import type { Clock, Log } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import type { Sink } from './journal-file.ts'
import { BEGINNING, chainLine, parseHash, parseKeptCount } from './journal-file.ts'

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
  #work: Promise<void> = Promise.resolve()

  constructor(settings: JournalSettings, host: AuditJournalDeps) {
    this.#settings = settings
    this.#deps = host
  }

  /** True if buffered lines may never be written. */
  get isFailing(): boolean {
    return this.#isFailing || this.#isFull
  }

  /** Opens the sink. With `strict`, rejects on failure; otherwise retries later. */
  async open(settings: JournalSettings, strict: boolean): Promise<void> {
    this.#settings = settings
    const opened = this.#enqueue(async () => {
      await this.#openSink()
      await this.#drain()
    })
    await (strict ? opened : opened.catch((error: unknown) => this.#recordWriteFailure(error)))
  }

  /** Adds a line to the buffer; does no I/O. */
  add(line: string): void {
    if (this.#isFull) {
      this.lost++
      this.#unreported++
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
    if (this.#lines.length === MANY_LINES) void this.flush()
    else this.#stopTimer ??= this.#deps.clock.after(this.#pauseMs, () => void this.flush())
  }

  get #pauseMs(): number {
    return Math.max(0, this.#flushedAt + FLUSH_MS - this.#deps.clock.now())
  }

  /**
   * Writes buffered lines synchronously, for process exit and strict mode. Lines stay buffered during another write
   * or on failure.
   */
  readonly flushNow = (): void => {
    if (!this.#isOpen || this.#isRotating || this.#isFailing || this.#pending.length > 0) return
    this.#takeLines()
    try {
      const written = this.#deps.sink.writeSync(this.#pending)
      this.#pending = this.#pending.subarray(written)
    } catch (error) {
      this.#recordWriteFailure(error)
      return
    }
    if (this.#pending.length > 0 || this.#isTooLarge) void this.flush()
  }

  /** Writes buffered lines. Never rejects: on failure they stay buffered and are retried. */
  flush(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#flushedAt = this.#deps.clock.now()
    return this.#enqueue(() => this.#write()).then(
      () => this.#recordSuccess(),
      (error: unknown) => this.#recordWriteFailure(error),
    )
  }

  async close(): Promise<void> {
    await this.flush()
    this.#stopTimer?.()
    this.#stopTimer = undefined
    await this.#deps.sink.close()
    this.#isOpen = false
  }

  get #isFull(): boolean {
    return this.#lines.length >= MAX_LINES || this.#characters >= MAX_CHARACTERS
  }

  /** Runs operations sequentially. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => undefined)
    return done
  }

  get #isTooLarge(): boolean {
    return this.#deps.sink.size > this.#settings.maxSize
  }

  async #write(): Promise<void> {
    await this.#drain()
    if (this.#lines.length > 0) await this.#writeLines()
    if (this.#isOpen && this.#isTooLarge) await this.#rotateFile()
  }

  async #writeLines(): Promise<void> {
    await this.#openSink()
    await this.#drain()
    if (this.#isRotating || (this.#settings.chain && this.#hash === undefined)) await this.#rotateFile()
    this.#takeLines()
    await this.#drain()
  }

  #takeLines(): void {
    const lines = this.#lines
    this.#lines = []
    this.#characters = 0
    this.#addLines(lines)
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      const written = await this.#deps.sink.write(this.#pending)
      this.#pending = this.#pending.subarray(written)
    }
  }

  async #openSink(): Promise<void> {
    if (this.#isOpen) return
    const { first, last, torn, cut } = await this.#deps.sink.open()
    const { chain } = this.#settings
    // Without a chain, the torn line may belong to another writer; keep it.
    if (torn > 0 && chain) await cut()
    this.#continueChain(first, last)
    this.#isOpen = true
    if (chain && this.#hash === undefined) return this.#rotateFile()
    if (torn > 0 && !chain) this.#pending = Buffer.from('\n')
    this.#addOpening(last === undefined, torn)
    await this.#drain()
  }

  #continueChain(first: string | undefined, last: string | undefined): void {
    this.#hash = last === undefined ? BEGINNING : parseHash(last)
    this.#keptFileCount = parseKeptCount(first) ?? 0
  }

  /** Begins a new file that links to the previous one. */
  async #rotateFile(): Promise<void> {
    this.#isRotating = true
    await this.#deps.sink.rotate(this.#settings.keep)
    this.#isRotating = false
    // A file without a chain cannot be verified, so the count restarts.
    this.#keptFileCount = this.#hash === undefined ? 0 : Math.min(this.#keptFileCount + 1, this.#settings.keep)
    this.#hash ??= BEGINNING
    this.#addOpening(true, 0)
    await this.#drain()
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

  #recordSuccess(): void {
    if (this.#isFailing) this.#deps.log.warn('audit log resumed', { lost: this.#unreported })
    this.#isFailing = false
    if (this.#unreported === 0) return
    const lines = this.#unreported
    this.#unreported = 0
    this.add(this.#deps.note('lost', { lines }))
  }

  #recordWriteFailure(error: unknown): void {
    if (!this.#isFailing) this.#deps.log.error('cannot write audit log', { reason: getErrorMessage(error) })
    this.#isFailing = true
    this.#stopTimer ??= this.#deps.clock.after(RETRY_MS, () => void this.flush())
  }
}
