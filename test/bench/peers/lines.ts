const NEWLINE = 0x0a

/** Cuts a stream into lines, without their ends. */
export class Lines {
  readonly #onLine: (line: Buffer) => void
  #parts: Buffer[] = []

  constructor(onLine: (line: Buffer) => void) {
    this.#onLine = onLine
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from)
      if (at < 0) break
      const rest = chunk.subarray(from, at)
      this.#onLine(this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest]))
      this.#parts = []
      from = at + 1
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from))
  }
}
