import type { Log } from '../api/index.ts'

/** Texts of failed starts that are remembered of one upstream, and most lines and characters of one. */
const MOST_TEXTS = 8
const MOST_LINES = 500
const MOST_CHARACTERS = 64 * 1024

/** Parts that differ in lines that say the same: dates, times, and the number of the process. */
const VARYING = /\d{4}-\d\d-\d\d|\d{1,2}:\d\d:\d\d([.,]\d+)?|\(node:\d+\)/g

/** Output of processes whose start failed. */
interface FailedStart {
  readonly lines: readonly string[]
  /** Starts that wrote the same. */
  times: number
}

/** Output of the processes of one upstream before their starts failed, kept so that the log has the same text once. */
export class FailedStarts {
  #known: FailedStart[] = []

  get known(): readonly FailedStart[] {
    return this.#known
  }

  /** Notes what a process wrote whose start failed. */
  add(lines: readonly string[]): void {
    this.#known = [...this.#known.slice(1 - MOST_TEXTS), { lines, times: 1 }]
  }

  /** A start went well: whatever is written at the next one is news. */
  forget(): void {
    this.#known = []
  }
}

/** The log of one process while it starts: a text that an earlier start wrote as well is held back, and counted. */
export class StartLog {
  readonly #log: Log
  readonly #starts: FailedStarts
  /** Earlier texts that begin as this one. */
  #alike: readonly FailedStart[]
  /** Lines that are held back; undefined where nothing is, as they differ from all that is known. */
  #held: string[] | undefined
  /** The lines so far, for comparison; undefined once the server is up, or where they are too many. */
  #lines: string[] | undefined = []
  #characters = 0

  constructor(log: Log, starts: FailedStarts) {
    this.#log = log
    this.#starts = starts
    this.#alike = starts.known
    this.#held = this.#alike.length > 0 ? [] : undefined
  }

  info(text: string): void {
    if (this.#lines !== undefined) this.#compare(this.#lines, text)
    if (this.#held === undefined) this.#log.info(text)
    else this.#held.push(text)
  }

  /** The server has introduced itself: its start went well. */
  ready(): void {
    if (this.#lines === undefined) return
    this.#release()
    this.#lines = undefined
    this.#starts.forget()
  }

  /** The process has ended. */
  ended(): void {
    const lines = this.#lines
    this.#lines = undefined
    if (lines === undefined || lines.length === 0) return this.#release()
    const same = this.#held && this.#alike.find(known => known.lines.length === lines.length)
    if (same === undefined) {
      this.#release()
      this.#starts.add(lines)
    } else {
      this.#held = undefined
      same.times++
      this.#log.info('it wrote the same as at an earlier start', { lines: lines.length, times: same.times })
    }
  }

  #compare(lines: string[], text: string): void {
    const plain = text.replace(VARYING, '#')
    const place = lines.push(plain) - 1
    this.#characters += plain.length
    this.#alike = this.#alike.filter(known => known.lines[place] === plain)
    if (this.#alike.length === 0) this.#release()
    if (lines.length > MOST_LINES || this.#characters > MOST_CHARACTERS) {
      this.#release()
      this.#lines = undefined
    }
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const text of held) this.#log.info(text)
  }
}
