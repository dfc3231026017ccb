import type { Clock, Log } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import type { Sink } from './journal-file.ts'
import { BEGINNING, chained, hashIn, keptIn } from './journal-file.ts'

interface JournalSettings {
  /** Bytes after which a file is set aside. */
  readonly maxSize: number
  readonly keep: number
  readonly chain: boolean
}

export interface JournalHost {
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Log
  /** A line about the journal itself. */
  note(kind: string, fields: object): string
}

/** Least time between two writes. A line after a quiet time is written at once: who asked for it may kill the gateway next. */
const FLUSH_MS = 20
/** So many are written at once. */
const MANY_LINES = 256
const RETRY_MS = 1000
/** Bytes that wait in memory while nothing can be written. */
const MAX_LINES = 20_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const EMPTY = Buffer.alloc(0)

/** Lines on their way to where they are kept: in batches, in order, chained where that is wanted, and bounded. */
export class Journal {
  /** Number of owners; the last one closes it. */
  owners = 0
  /** Lines for which there was no room since the gateway began. */
  lost = 0
  #settings: JournalSettings
  readonly #host: JournalHost
  #lines: string[] = []
  #characters = 0
  /** Bytes being written, from the first that is not there yet. */
  #pending: Buffer = EMPTY
  #hash: string | undefined = undefined
  /** Number of files of the chain that were set aside; the first line of a file says so. */
  #kept = 0
  #isOpen = false
  /** A new file was to be begun, and that failed. */
  #isTurning = false
  #isFailing = false
  #untold = 0
  #flushedAt = -Infinity
  #stopTimer: (() => void) | undefined = undefined
  #work: Promise<void> = Promise.resolve()

  constructor(settings: JournalSettings, host: JournalHost) {
    this.#settings = settings
    this.#host = host
  }

  /** True while lines that are added may never be written. */
  get isFailing(): boolean {
    return this.#isFailing || this.#isFull
  }

  /** Makes it ready. What is `strict` rejects when that cannot be done; all else tries again. */
  async open(settings: JournalSettings, strict: boolean): Promise<void> {
    this.#settings = settings
    const opened = this.#next(async () => {
      await this.#begin()
      await this.#drain()
    })
    await (strict ? opened : opened.catch((error: unknown) => this.#wentWrong(error)))
  }

  /** Costs no more than a place in a list. */
  add(line: string): void {
    if (this.#isFull) {
      this.lost++
      this.#untold++
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
    if (this.#lines.length === MANY_LINES) void this.flush()
    else this.#stopTimer ??= this.#host.clock.after(this.#pause, () => void this.flush())
  }

  /** Milliseconds until the next write is due. */
  get #pause(): number {
    return Math.max(0, this.#flushedAt + FLUSH_MS - this.#host.clock.now())
  }

  /**
   * Writes what waits before it returns: for a process that is about to exit, and for lines that must not be lost. Lines
   * wait on while something is being written, or nothing can be.
   */
  readonly flushNow = (): void => {
    if (!this.#isOpen || this.#isTurning || this.#isFailing || this.#pending.length > 0) return
    this.#takeLines()
    try {
      const taken = this.#host.sink.writeNow(this.#pending)
      this.#pending = this.#pending.subarray(taken)
    } catch (error) {
      this.#wentWrong(error)
      return
    }
    if (this.#pending.length > 0 || this.#isTooLarge) void this.flush()
  }

  /** Writes what waits. Never rejects: what cannot be written waits on, and is tried again. */
  flush(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#flushedAt = this.#host.clock.now()
    return this.#next(() => this.#write()).then(
      () => this.#wentWell(),
      (error: unknown) => this.#wentWrong(error),
    )
  }

  async close(): Promise<void> {
    await this.flush()
    this.#stopTimer?.()
    this.#stopTimer = undefined
    await this.#host.sink.close()
    this.#isOpen = false
  }

  get #isFull(): boolean {
    return this.#lines.length >= MAX_LINES || this.#characters >= MAX_CHARACTERS
  }

  /** One after the other. */
  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => undefined)
    return done
  }

  get #isTooLarge(): boolean {
    return this.#host.sink.size > this.#settings.maxSize
  }

  async #write(): Promise<void> {
    await this.#drain()
    if (this.#lines.length > 0) await this.#writeLines()
    if (this.#isOpen && this.#isTooLarge) await this.#turnOver()
  }

  async #writeLines(): Promise<void> {
    await this.#begin()
    await this.#drain()
    if (this.#isTurning || (this.#settings.chain && this.#hash === undefined)) await this.#turnOver()
    this.#takeLines()
    await this.#drain()
  }

  #takeLines(): void {
    const lines = this.#lines
    this.#lines = []
    this.#characters = 0
    this.#put(lines)
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      const taken = await this.#host.sink.write(this.#pending)
      this.#pending = this.#pending.subarray(taken)
    }
  }

  async #begin(): Promise<void> {
    if (this.#isOpen) return
    const { first, last, torn, cut } = await this.#host.sink.open()
    const { chain } = this.#settings
    // Without a chain others may be writing to it, and their line is not ours to cut.
    if (torn > 0 && chain) await cut()
    this.#follow(first, last)
    this.#isOpen = true
    if (chain && this.#hash === undefined) return this.#turnOver()
    if (torn > 0 && !chain) this.#pending = Buffer.from('\n')
    this.#putOpening(last === undefined, torn)
    await this.#drain()
  }

  #follow(first: string | undefined, last: string | undefined): void {
    this.#hash = last === undefined ? BEGINNING : hashIn(last)
    this.#kept = keptIn(first) ?? 0
  }

  /** A new file, which says what it follows. */
  async #turnOver(): Promise<void> {
    this.#isTurning = true
    await this.#host.sink.rotate(this.#settings.keep)
    this.#isTurning = false
    // A file without a chain is not part of what can be followed.
    this.#kept = this.#hash === undefined ? 0 : Math.min(this.#kept + 1, this.#settings.keep)
    this.#hash ??= BEGINNING
    this.#putOpening(true, 0)
    await this.#drain()
  }

  /** The line that a file begins with says so, and how many were set aside before. */
  #putOpening(isFirst: boolean, torn: number): void {
    const previous = this.#settings.chain ? { previous: this.#hash } : {}
    const kept = this.#settings.chain && isFirst ? { kept: this.#kept } : {}
    this.#put([this.#host.note('opened', { ...previous, ...kept, ...(torn > 0 ? { torn } : {}) })])
  }

  #put(lines: readonly string[]): void {
    let text = ''
    for (const line of lines) text += `${this.#linked(line)}\n`
    const bytes = Buffer.from(text)
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
  }

  #linked(line: string): string {
    if (!this.#settings.chain) {
      this.#hash = undefined
      return line
    }
    const next = chained(line, this.#hash ?? BEGINNING)
    this.#hash = next.hash
    return next.line
  }

  #wentWell(): void {
    if (this.#isFailing) this.#host.log.warn('the audit is written again', { lost: this.#untold })
    this.#isFailing = false
    if (this.#untold === 0) return
    const lines = this.#untold
    this.#untold = 0
    this.add(this.#host.note('lost', { lines }))
  }

  #wentWrong(error: unknown): void {
    if (!this.#isFailing)
      this.#host.log.error('the audit cannot be written', { reason: getErrorMessage(error) })
    this.#isFailing = true
    this.#stopTimer ??= this.#host.clock.after(RETRY_MS, () => void this.flush())
  }
}
