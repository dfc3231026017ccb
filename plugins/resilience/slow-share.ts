/** When the share of slow calls is too large. */
export interface SlowLimits {
  /** Share of all calls, above 0 up to 1. */
  readonly share: number
  /** Milliseconds that are looked back on. */
  readonly window: number
  /** Fewer calls than this say nothing. */
  readonly calls: number
}

/** Parts of the window: what leaves it leaves by parts. */
const PARTS = 10

interface Part {
  number: number
  calls: number
  slow: number
}

/** Counts slow calls over a window that moves. */
export class SlowShare {
  readonly #limits: SlowLimits
  readonly #partMs: number
  #parts: Part[] = []

  constructor(limits: SlowLimits) {
    this.#limits = limits
    this.#partMs = Math.max(1, limits.window / PARTS)
  }

  /** Counts one call; true when too many are slow now. */
  add(now: number, isSlow: boolean): boolean {
    const number = Math.floor(now / this.#partMs)
    const last = this.#parts.at(-1)
    const part = last?.number === number ? last : this.#begin(number)
    part.calls++
    if (!isSlow) return false
    part.slow++
    return this.#isTooMuch(number)
  }

  forget(): void {
    this.#parts = []
  }

  #begin(number: number): Part {
    const part = { number, calls: 0, slow: 0 }
    this.#parts.push(part)
    if (this.#parts.length > PARTS) this.#parts.shift()
    return part
  }

  #isTooMuch(number: number): boolean {
    let calls = 0
    let slow = 0
    for (const part of this.#parts) {
      if (part.number <= number - PARTS) continue
      calls += part.calls
      slow += part.slow
    }
    return calls >= this.#limits.calls && slow / calls >= this.#limits.share
  }
}
