const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i

/** Cuts a keep-alive connection's bytes into HTTP messages, with a Content-Length or chunked. */
export class HttpMessages {
  readonly #onMessage: (head: string, body: Buffer) => void
  #head: string | undefined
  /** Number of bytes are needed before it is worth looking again. */
  #needed = 0
  /** All that has come of a chunked body; undefined while there is none. */
  #chunks: Buffer[] | undefined
  #parts: Buffer[] = []
  #size = 0

  constructor(onMessage: (head: string, body: Buffer) => void) {
    this.#onMessage = onMessage
  }

  push(chunk: Buffer): void {
    this.#parts.push(chunk)
    this.#size += chunk.length
    while (this.#next());
  }

  #next(): boolean {
    if (this.#head === undefined && !this.#readHead()) return false
    if (this.#size < this.#needed) return false
    const body = this.#chunks === undefined ? this.#take(this.#needed) : this.#readChunks(this.#chunks)
    if (body === undefined) return false
    const head = this.#head ?? ''
    this.#head = undefined
    this.#chunks = undefined
    this.#needed = 0
    this.#onMessage(head, body)
    return this.#size > 0
  }

  #readHead(): boolean {
    const all = this.#join()
    const end = all.indexOf(HEAD_END)
    if (end < 0) return false
    this.#head = all.toString('latin1', 0, end)
    if (CHUNKED.test(this.#head)) this.#chunks = []
    else this.#needed = Number(LENGTH.exec(this.#head)?.[1] ?? 0)
    this.#rest(all.subarray(end + 4))
    return true
  }

  /** The whole body once its last chunk is there; until then it keeps what has come. */
  #readChunks(chunks: Buffer[]): Buffer | undefined {
    for (;;) {
      const all = this.#join()
      const line = all.indexOf(LINE_END)
      if (line < 0) return this.#wait(this.#size + 1)
      const size = Number.parseInt(all.toString('latin1', 0, line), 16)
      const end = line + 2 + size + 2
      if (all.length < end) return this.#wait(end)
      this.#rest(all.subarray(end))
      if (size === 0) return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      chunks.push(all.subarray(line + 2, end - 2))
    }
  }

  #wait(needed: number): undefined {
    this.#needed = needed
  }

  #take(length: number): Buffer {
    const all = this.#join()
    this.#rest(all.subarray(length))
    return all.subarray(0, length)
  }

  #join(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#size)
  }

  #rest(rest: Buffer): void {
    this.#parts = [rest]
    this.#size = rest.length
  }
}
