import type { Clock, Log, LogLine, UpstreamLogs } from '../api/index.ts'
import { LineSplitter } from '../util/messages.ts'
import type { HideSecrets } from '../util/secrets.ts'
import { formatPeerText } from '../util/log.ts'
import { stripEscapes } from '../util/plain-text.ts'

/** Stored bytes per upstream. */
const MAX_BYTES = 64 * 1024
const LINE_OVERHEAD_BYTES = 64

/** Matches error lines of common languages. */
const ERROR =
  /^(Uncaught |Unhandled |Exception in thread "[^"]*" )?[\w.$]*(Error|Exception)( \[\w+\])?(:|$)|^(fatal|error|panic)\b|panicked at/i

/** Lines above this rate are only counted. */
const MAX_PER_SECOND = 100
const MAX_LINE_LENGTH = 4096
const MAX_LAST_LINES = 20
/** Longest excerpt in an error. */
const MAX_SHOWN_LENGTH = 300

interface StderrOptions {
  readonly log: Log
  readonly clock: Clock
  /** Removes secrets. */
  readonly hide: HideSecrets
  /** Recent lines of the upstream. */
  readonly recent: RecentLines
}

/** Reads stderr: logs it at a limited rate, stores recent lines, and provides the last ones for errors. */
export class StderrReader {
  readonly #options: StderrOptions
  /** Set once the process is spawned. */
  pid: number | undefined = undefined
  readonly #lines: LineSplitter
  /** Last lines, for errors. */
  #last: string[] = []
  #windowStart = -Infinity
  #count = 0
  #suppressed = 0

  constructor(options: StderrOptions) {
    this.#options = options
    this.#lines = new LineSplitter({
      maxLine: MAX_LINE_LENGTH,
      onLine: line => this.#line(line.toString('utf8')),
      onTooLong: () => this.#line('(line too long)'),
    })
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  end(): void {
    this.#lines.end()
    this.#report()
  }

  /** Last lines for an error detail, if any. */
  get lastOutput(): string | undefined {
    const last = summarizeStderr(this.#options.hide(stripEscapes(this.#last.join('\n'))))
    return last === '' ? undefined : formatPeerText(last, MAX_SHOWN_LENGTH)
  }

  #line(line: string): void {
    this.#last = [...this.#last.slice(1 - MAX_LAST_LINES), line]
    const { log, clock } = this.#options
    const now = clock.now()
    if (now - this.#windowStart >= 1000) {
      this.#report()
      this.#windowStart = now
      this.#count = 0
    }
    if (++this.#count > MAX_PER_SECOND) {
      this.#suppressed++
      return
    }
    const text = formatPeerText(this.#options.hide(stripEscapes(line)), MAX_LINE_LENGTH)
    log.info(text)
    const recent = { at: Date.now(), stream: 'stderr', text } as const
    this.#options.recent.add(this.pid === undefined ? recent : { ...recent, pid: this.pid })
  }

  #report(): void {
    const { log } = this.#options
    if (this.#suppressed > 0) log.warn('stderr rate limit exceeded, lines dropped', { count: this.#suppressed })
    this.#suppressed = 0
  }
}

/** Summarizes output on one line: the last error, else the last lines. */
export function summarizeStderr(text: string): string {
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '')
  const error = lines.findLast(line => ERROR.test(line))
  if (error !== undefined) return error.trim()
  return lines
    .slice(-3)
    .map(line => line.trim())
    .join(' | ')
}

/** Recent stderr lines of an upstream across restarts, with listeners for new ones. */
export class RecentLines implements UpstreamLogs {
  readonly #listeners = new Set<(line: LogLine) => void>()
  readonly #lines: LogLine[] = []
  #bytes = 0

  recent(): readonly LogLine[] {
    return [...this.#lines]
  }

  follow(listener: (line: LogLine) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  add(line: LogLine): void {
    this.#lines.push(line)
    this.#bytes += getLineSize(line)
    while (this.#bytes > MAX_BYTES) {
      const oldest = this.#lines.shift()
      if (oldest === undefined) break
      this.#bytes -= getLineSize(oldest)
    }
    for (const listener of this.#listeners) this.#notify(listener, line)
  }

  #notify(listener: (line: LogLine) => void, line: LogLine): void {
    try {
      listener(line)
    } catch {
      // A failing listener must not affect the server.
      this.#listeners.delete(listener)
    }
  }
}

function getLineSize({ text }: LogLine): number {
  return Buffer.byteLength(text) + LINE_OVERHEAD_BYTES
}
