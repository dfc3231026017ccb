import type { Clock, Log } from '../api/index.ts'
import { Allowance } from './allowance.ts'
import { loopTurns, type Pausable } from './loop-turns.ts'

const MIB = 1024 * 1024
/** Bytes for nobody that may come: a large job reports each step, some ten thousand a second, and a few of them are passed on. */
const RATE = { atOnce: 4 * MIB, perSecond: 4 * MIB }
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

interface WastedBytesOptions {
  readonly clock: Clock
  /** Told once, when the source is made to wait for the first time. */
  onSlow(): void
}

/** Counts what a source sends for nobody, whatever streams it comes on. */
export class WastedBytes {
  readonly #onSlow: () => void
  readonly #allowance: Allowance
  #isSlow = false

  constructor({ clock, onSlow }: WastedBytesOptions) {
    this.#onSlow = onSlow
    this.#allowance = new Allowance(clock, RATE)
  }

  /** Counts a message for nobody; returns the milliseconds for which its stream is to wait, 0 where it need not. */
  spend(bytes: number): number {
    loopTurns.share()
    const ms = this.#allowance.spend(bytes)
    if (ms === 0) return 0
    if (!this.#isSlow) this.#onSlow()
    this.#isSlow = true
    return Math.max(SHORTEST_MS, ms)
  }
}

/** Logs that a server is made to wait. */
export function logSlow(log: Log, server: { readonly pid?: number | undefined } = {}): void {
  const why =
    'it sends over 4 MiB a second that nobody is given, such as progress of which a call gets 20 a second'
  log.warn('a server is read more slowly', { ...server, why })
}

interface WastedOptions extends WastedBytesOptions {
  readonly flow: Pausable
}

/**
 * Reads a source more slowly that sends much of what nobody is given, such as a report of progress a hundred thousand times. Its
 * sender waits then, and leaves the processor to others; all that it sends is still read, in order.
 */
export class Wasted {
  readonly #options: WastedOptions
  readonly #bytes: WastedBytes
  #isOver = false
  #goOn: (() => void) | undefined

  constructor(options: WastedOptions) {
    this.#options = options
    this.#bytes = new WastedBytes(options)
  }

  /** Counts a message for nobody. */
  add(bytes: number): void {
    const ms = this.#bytes.spend(bytes)
    if (ms > 0 && this.#goOn === undefined && !this.#isOver) this.#wait(ms)
  }

  /** Ends all waiting: the source is about to end, and what is left of it is read at once. */
  end(): void {
    this.#isOver = true
    this.#goOn?.()
  }

  #wait(ms: number): void {
    const { clock, flow } = this.#options
    flow.pause?.()
    const takeBack = clock.after(ms, () => this.#goOn?.())
    this.#goOn = () => {
      this.#goOn = undefined
      takeBack()
      flow.resume?.()
    }
  }
}
