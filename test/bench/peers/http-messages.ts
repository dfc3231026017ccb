const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Cuts a keep-alive connection's bytes into HTTP messages with a Content-Length: all that the bench needs. */
export class HttpMessages {
  readonly #onMessage: (head: string, body: Buffer) => void
  #head: string | undefined
  #length = 0
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
    if (this.#size < this.#length) return false
    const all = this.#join()
    const body = all.subarray(0, this.#length)
    this.#rest(all.subarray(this.#length))
    const head = this.#head ?? ''
    this.#head = undefined
    this.#onMessage(head, body)
    return this.#size > 0
  }

  #readHead(): boolean {
    const all = this.#join()
    const end = all.indexOf(HEAD_END)
    if (end < 0) return false
    this.#head = all.toString('latin1', 0, end)
    this.#length = Number(LENGTH.exec(this.#head)?.[1] ?? 0)
    if (/\r\ntransfer-encoding:/i.test(this.#head))
      throw new Error(`chunked, which the bench cannot read:\n${this.#head}`)
    this.#rest(all.subarray(end + 4))
    return true
  }

  #join(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#size)
  }

  #rest(rest: Buffer): void {
    this.#parts = [rest]
    this.#size = rest.length
  }
}
