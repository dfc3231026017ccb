import type { LogLine, UpstreamLogs } from '../api/index.ts'

/** Bytes that are kept of each upstream. */
const MAX_BYTES = 64 * 1024
/** What a line costs besides its text. */
const OVERHEAD = 64

/** The last lines that an upstream said, over all its processes, and whoever hears the next ones. */
export class RecentLines implements UpstreamLogs {
  readonly #hearers = new Set<(line: LogLine) => void>()
  #lines: LogLine[] = []
  /** Lines before this one are forgotten; they are cut off when they are half of all. */
  #first = 0
  #bytes = 0

  recent(): readonly LogLine[] {
    return this.#lines.slice(this.#first)
  }

  follow(hear: (line: LogLine) => void): () => void {
    this.#hearers.add(hear)
    return () => void this.#hearers.delete(hear)
  }

  add(line: LogLine): void {
    this.#lines.push(line)
    this.#bytes += sizeOf(line)
    for (let oldest = this.#lines[this.#first]; this.#bytes > MAX_BYTES && oldest !== undefined;) {
      this.#bytes -= sizeOf(oldest)
      oldest = this.#lines[++this.#first]
    }
    if (this.#first * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#first)
      this.#first = 0
    }
    for (const hear of this.#hearers) this.#tell(hear, line)
  }

  #tell(hear: (line: LogLine) => void, line: LogLine): void {
    try {
      hear(line)
    } catch {
      // Its trouble must not end the server that spoke.
      this.#hearers.delete(hear)
    }
  }
}

function sizeOf({ text }: LogLine): number {
  return Buffer.byteLength(text) + OVERHEAD
}
