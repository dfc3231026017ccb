import type { Clock, Log, LogLine, UpstreamLogs } from '../api/index.ts'
import { LineSplitter } from '../transport/line-splitter.ts'
import type { Hide } from '../util/secrets.ts'
import { visible } from '../util/log.ts'
import { withoutSequences } from '../util/plain-text.ts'

/** Bytes that are kept of each upstream. */
const MAX_BYTES = 64 * 1024
/** Cost of a line besides its text. */
const LINE_OVERHEAD_BYTES = 64

/** The line of an error that says what it is, in the forms of most languages. */
const ERROR =
  /^(Uncaught |Unhandled |Exception in thread "[^"]*" )?[\w.$]*(Error|Exception)( \[\w+\])?(:|$)|^(fatal|error|panic)\b|panicked at/i

/** Beyond these a line costs nothing but being counted. */
const LOGGED_PER_SECOND = 100
const KEPT_PER_SECOND = 1000
const MAX_LINE_LENGTH = 4096
const KEPT_BYTES = 8192
/** Most characters of the last lines in an error text. */
const MAX_SHOWN_LENGTH = 300

/** Receivers of what a process writes on stderr. */
interface StderrOptions {
  readonly log: Log
  readonly clock: Clock
  /** Takes out what must not be shown to anybody. */
  readonly hide: Hide
  /** The last lines of its upstream. */
  readonly recent: RecentLines
}

/** Reads what a process writes on stderr: logs it, not too fast, and keeps its last lines, and its end for error texts. */
export class StderrReader {
  readonly #options: StderrOptions
  /** The process that speaks, once there is one. */
  pid: number | undefined = undefined
  readonly #lines: LineSplitter
  #tail: Buffer = Buffer.alloc(0)
  #windowStart = -Infinity
  #count = 0
  #suppressed = 0

  constructor(options: StderrOptions) {
    this.#options = options
    this.#lines = new LineSplitter({
      maxLine: MAX_LINE_LENGTH,
      onLine: line => this.#line(line.toString('utf8')),
      onTooLong: () => this.#line('(a line too long for the log)'),
    })
  }

  push(chunk: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES)
    this.#lines.push(chunk)
  }

  end(): void {
    this.#lines.end()
    this.#report()
  }

  /** The last lines, for the detail of an error; undefined when there are none. */
  get lastOutput(): string | undefined {
    const last = extractLastLine(this.#options.hide(withoutSequences(this.#tail.toString('utf8'))))
    return last === '' ? undefined : visible(last, MAX_SHOWN_LENGTH)
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
    const text = visible(this.#options.hide(withoutSequences(line)), MAX_LINE_LENGTH)
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

/** Puts the end of a process's output on one line: its last error if there is one, else the last lines. */
export function extractLastLine(text: string): string {
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '')
  const error = lines.findLast(line => ERROR.test(line))
  if (error !== undefined) return error.trim()
  return lines
    .slice(-3)
    .map(line => line.trim())
    .join(' | ')
}

/** The last lines that an upstream said, over all its processes, and whoever hears the next ones. */
export class RecentLines implements UpstreamLogs {
  readonly #listeners = new Set<(line: LogLine) => void>()
  readonly #lines: LogLine[] = []
  #bytes = 0

  recent(): readonly LogLine[] {
    return [...this.#lines]
  }

  follow(hear: (line: LogLine) => void): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }

  add(line: LogLine): void {
    this.#lines.push(line)
    this.#bytes += getLineSize(line)
    while (this.#bytes > MAX_BYTES) {
      const oldest = this.#lines.shift()
      if (oldest === undefined) break
      this.#bytes -= getLineSize(oldest)
    }
    for (const hear of this.#listeners) this.#notify(hear, line)
  }

  #notify(hear: (line: LogLine) => void, line: LogLine): void {
    try {
      hear(line)
    } catch {
      // Its trouble must not end the server that spoke.
      this.#listeners.delete(hear)
    }
  }
}

function getLineSize({ text }: LogLine): number {
  return Buffer.byteLength(text) + LINE_OVERHEAD_BYTES
}
