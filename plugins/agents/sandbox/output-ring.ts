import { boundaryBefore, isContinuation } from './text.ts'

/** The last bytes that a program wrote; what is older is dropped. */
export class OutputRing {
  readonly #most: number
  #chunks: Buffer[] = []
  #length = 0
  #dropped = false

  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    // Copied together now and then only, so that each byte is moved a few times at most.
    if (this.#length > 2 * this.#most || this.#chunks.length > 1024) this.#trim()
  }

  /** As text, from the start of a character to the end of one. */
  read(hasEnded: boolean): { readonly output: string; readonly truncated: boolean } {
    const bytes = this.#trim()
    const end = hasEnded ? bytes.length : wholeCharacters(bytes)
    return { output: bytes.subarray(0, end).toString(), truncated: this.#dropped }
  }

  #trim(): Buffer {
    const all = Buffer.concat(this.#chunks, this.#length)
    let from = Math.max(0, all.length - this.#most)
    if (from > 0) {
      this.#dropped = true
      for (let skipped = 0; skipped < 3 && isContinuation(all[from]); skipped++) from++
    }
    // A copy, or the rest would be kept in memory behind it.
    const kept = from > 0 ? Buffer.from(all.subarray(from)) : all
    this.#chunks = [kept]
    this.#length = kept.length
    return kept
  }
}

/** Where the last character that is all there ends: the rest of another may be on its way. */
function wholeCharacters(bytes: Buffer): number {
  const last = bytes[bytes.length - 1]
  if (last === undefined || last < 0x80) return bytes.length
  const start = boundaryBefore(bytes, bytes.length - 1)
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return bytes.length - start < length ? start : bytes.length
}
