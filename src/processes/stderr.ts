import { OWNER_ONLY } from '../errors/errors.ts'
import type { Clock, Log } from '../api/index.ts'
import { LineSplitter } from '../transport/line-splitter.ts'
import { lastWordsIn } from './last-words.ts'
import type { Hide } from '../util/secrets.ts'
import type { RecentLines } from './recent-lines.ts'
import { visible } from '../transport/printable.ts'

/** Beyond these a line costs nothing but being counted. */
const LOGGED_PER_SECOND = 100
const KEPT_PER_SECOND = 1000
const LONGEST_LINE = 4096
const KEPT_BYTES = 8192
/** How much of the last lines an error text shows. */
const SHOWN = 300

/** Who hears what a process says on stderr. */
export interface StderrOptions {
  readonly log: Log
  readonly clock: Clock
  /** Takes out what must not be shown to anybody. */
  readonly hide: Hide
  /** The last lines of its upstream. */
  readonly recent: RecentLines
}

/** What a process says on stderr: logged, not too fast, its last lines kept, and its end for error texts. */
export class Stderr {
  readonly #options: StderrOptions
  /** The process that speaks, once there is one. */
  pid: number | undefined = undefined
  readonly #lines: LineSplitter
  #kept: Buffer = Buffer.alloc(0)
  #windowStart = -Infinity
  #count = 0
  #suppressed = 0

  constructor(options: StderrOptions) {
    this.#options = options
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
    const last = lastWordsIn(this.#options.hide(this.#kept.toString('utf8')))
    return last === '' ? '' : `${OWNER_ONLY}${visible(last, SHOWN)}`
  }

  #line(line: string): void {
    const { log, clock } = this.#options
    const now = clock.now()
    if (now - this.#windowStart >= 1000) {
      this.#report()
      this.#windowStart = now
      this.#count = 0
    }
    if (++this.#count > LOGGED_PER_SECOND) this.#suppressed++
    if (this.#count > KEPT_PER_SECOND) return
    const text = visible(this.#options.hide(line), LONGEST_LINE)
    if (this.#count <= LOGGED_PER_SECOND) log.info(text)
    this.#keep(text)
  }

  #keep(text: string): void {
    const at = Date.now()
    const line = { at, stream: 'stderr', text } as const
    this.#options.recent.add(this.pid === undefined ? line : { ...line, pid: this.pid })
  }

  #report(): void {
    const { log } = this.#options
    if (this.#suppressed > 0)
      log.warn('lines of stderr left out, it writes too fast', { count: this.#suppressed })
    this.#suppressed = 0
  }
}
