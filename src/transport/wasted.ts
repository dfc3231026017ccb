import type { Clock } from '../api/index.ts'
import { Allowance } from './allowance.ts'
import type { Pausable } from './loop-turns.ts'

const MIB = 1024 * 1024
/** Bytes for nobody that may come: a large job reports each step, and a few of them are passed on. */
const RATE = { atOnce: 16 * MIB, perSecond: 16 * MIB }
/** The shortest wait: for less a source is not stopped. */
const SHORTEST_MS = 20

/** Pauses a source while anybody wants it paused. */
export class Valve implements Pausable {
  readonly #source: Pausable
  #holds = 0

  constructor(source: Pausable) {
    this.#source = source
  }

  pause(): void {
    if (this.#holds++ === 0) this.#source.pause?.()
  }

  resume(): void {
    if (--this.#holds === 0) this.#source.resume?.()
  }
}

interface WastedOptions {
  readonly clock: Clock
  readonly flow: Pausable
  /** Told once, when the source is made to wait for the first time. */
  onSlow(): void
}

/**
 * Reads a source more slowly that sends much of what nobody is given, such as a report of progress a hundred thousand times. Its
 * sender waits then, and leaves the processor to others; all that it sends is still read, in order.
 */
export class Wasted {
  readonly #options: WastedOptions
  readonly #allowance: Allowance
  #isSlow = false
  #isOver = false
  #goOn: (() => void) | undefined

  constructor(options: WastedOptions) {
    this.#options = options
    this.#allowance = new Allowance(options.clock, RATE)
  }

  /** Counts a message for nobody. */
  add(bytes: number): void {
    const ms = this.#allowance.spend(bytes)
    if (ms > 0 && this.#goOn === undefined && !this.#isOver) this.#wait(ms)
  }

  /** Ends all waiting: the source is about to end, and what is left of it is read at once. */
  end(): void {
    this.#isOver = true
    this.#goOn?.()
  }

  #wait(ms: number): void {
    const { clock, flow, onSlow } = this.#options
    if (!this.#isSlow) onSlow()
    this.#isSlow = true
    flow.pause?.()
    const takeBack = clock.after(Math.max(SHORTEST_MS, ms), () => this.#goOn?.())
    this.#goOn = () => {
      this.#goOn = undefined
      takeBack()
      flow.resume?.()
    }
  }
}
