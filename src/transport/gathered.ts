/** Least memory that is taken where it is not known how much will come. */
const LEAST = 4096

const NOTHING = Buffer.alloc(0)

/** Texts that were handed out with more memory than they need, all of it theirs. */
const withSurplus = new WeakSet<Buffer>()

/**
 * One text that arrives in chunks. From the second on they are put together as they come, while they are still warm: to do it
 * at the end would hold the loop for all of it at once. Memory is doubled when it is full.
 */
export class Gathered {
  readonly #ownsChunks: boolean
  #memory: Buffer = NOTHING
  /** Number of bytes that have come. */
  length = 0
  /** True where the memory is the first chunk itself. */
  #isChunk = false

  /** `ownsChunks` where nobody else holds them: then the memory of those that were copied is given back at once. */
  constructor(ownsChunks = false) {
    this.#ownsChunks = ownsChunks
  }

  /** The bytes that have come so far, which stay here. */
  peek(): Buffer {
    return this.#memory.subarray(0, this.length)
  }

  /** Takes memory for so many bytes together. */
  reserve(length: number): void {
    if (length <= this.#memory.length) return
    const memory = Buffer.allocUnsafe(length)
    this.#memory.copy(memory, 0, 0, this.length)
    this.#free()
    this.#memory = memory
    this.#isChunk = false
  }

  /** Takes the next bytes. The first chunk is kept as it is where no memory was reserved; others are copied. */
  push(chunk: Buffer): void {
    const length = this.length + chunk.length
    if (this.#memory.length === 0) {
      this.#memory = chunk
      this.#isChunk = true
    } else {
      if (length > this.#memory.length) this.reserve(Math.max(LEAST, 2 * length))
      chunk.copy(this.#memory, this.length)
      if (this.#ownsChunks) release(chunk)
    }
    this.length = length
  }

  /** Hands out everything with `rest` at its end, and begins anew. */
  take(rest: Buffer = NOTHING): Buffer {
    const length = this.length + rest.length
    this.reserve(length)
    rest.copy(this.#memory, this.length)
    const whole = this.#memory.subarray(0, length)
    if (!this.#isChunk && length > LEAST) withSurplus.add(whole)
    this.#begin()
    return whole
  }

  /** Drops what has come, and begins anew. */
  forget(): void {
    this.#free()
    this.#begin()
  }

  #begin(): void {
    this.#memory = NOTHING
    this.#isChunk = false
    this.length = 0
  }

  #free(): void {
    if (!this.#isChunk || this.#ownsChunks) release(this.#memory)
  }
}

/**
 * Frees the memory of a chunk, or of a gathered text, that nobody else holds. Where a chunk is only a part of its memory, there
 * may be others in it, and it is left. Many chunks, once the collector hears of them, make it look through the whole heap.
 */
export function release(bytes: Buffer): void {
  const { buffer, length } = bytes
  if (length === 0 || !(buffer instanceof ArrayBuffer)) return
  if (length === buffer.byteLength || withSurplus.has(bytes)) buffer.transfer(0)
}
