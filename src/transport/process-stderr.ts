import { OWNER_ONLY } from '../errors.ts'
import type { Clock, Log } from '../core/ports.ts'
import { LineSplitter } from './frames.ts'
import { visible } from './visible.ts'

const LINES_PER_SECOND = 100
const LONGEST_LINE = 4096
const KEPT_BYTES = 4096
/** How much of the last lines an error text shows. */
const SHOWN = 300

/** What a process says on stderr: logged, not too fast, and its end kept for error texts. */
export class Stderr {
  readonly #log: Log
  readonly #clock: Clock
  readonly #lines: LineSplitter
  #kept: Buffer = Buffer.alloc(0)
  #windowStart = -Infinity
  #count = 0
  #suppressed = 0

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
    this.#lines = new LineSplitter({
      maxLine: LONGEST_LINE,
      onLine: line => this.#line(line.toString('utf8')),
      onTooLong: () => this.#line('(a line too long for the log)'),
    })
  }

  push(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES)
    this.#lines.push(chunk)
  }

  end(): void {
    this.#lines.end()
    this.#report()
  }

  /** The last lines, for an error text; empty when there are none. */
  get lastWords(): string {
    const lines = this.#kept
      .toString('utf8')
      .split(/\r?\n/)
      .filter(line => line.trim() !== '')
    const last = lines.slice(-3).join(' | ').trim()
    return last === '' ? '' : `${OWNER_ONLY}${visible(last.slice(-SHOWN), SHOWN)}`
  }

  #line(line: string): void {
    const now = this.#clock.now()
    if (now - this.#windowStart >= 1000) {
      this.#report()
      this.#windowStart = now
      this.#count = 0
    }
    if (++this.#count > LINES_PER_SECOND) this.#suppressed++
    else this.#log.info(visible(line, LONGEST_LINE))
  }

  #report(): void {
    if (this.#suppressed > 0)
      this.#log.warn('lines of stderr left out, it writes too fast', { count: this.#suppressed })
    this.#suppressed = 0
  }
}
