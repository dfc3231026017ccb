/** Parts that wait for a slow reader, and their characters. */
const MAX_WAITING = 1024
const MAX_CHARACTERS = 1024 * 1024

/** A text that is read while it is written, such as a stream of events. What a slow reader has no room for is left out, but never its end. */
export class TextStream implements AsyncIterable<string> {
  readonly #waiting: string[] = []
  #characters = 0
  #isOver = false
  #wake: () => void = () => undefined

  /** False where the next part would be left out. */
  get hasRoom(): boolean {
    return !this.#isOver && this.#waiting.length < MAX_WAITING && this.#characters < MAX_CHARACTERS
  }

  add(part: string): void {
    if (this.hasRoom) this.#push(part)
  }

  /** Adds the last part. */
  end(part: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#push(part)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const part = this.#waiting.shift()
      this.#characters -= part?.length ?? 0
      if (part !== undefined) yield part
      else if (this.#isOver) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  #push(part: string): void {
    this.#characters += part.length
    this.#waiting.push(part)
    this.#wake()
  }
}
