import type { Clock } from '../../api/index.ts'
import type { Carrier } from '../../http-client/port.ts'
import { loopTurns } from '../../transport/loop-turns.ts'

/** Reads a stream in turns with everybody's work, and more slowly where too much of it is for nobody. */
export abstract class PacedReader {
  /** Time for which nothing is to be read, from the end of this read. */
  #slowMs = 0

  /** Has the rest of the stream wait. */
  slow(ms: number): void {
    this.#slowMs = ms
  }

  /** Goes on after a read that began at that time, in the turn of `key`. */
  protected readOn(key: string, began: number, carrier: Carrier, clock: Pick<Clock, 'after'>): void {
    if (this.#slowMs > 0) pauseFor(this.#slowMs, carrier, clock)
    else loopTurns.readInTurn(key, began, carrier)
    this.#slowMs = 0
  }
}

/** Reads nothing for so long. */
function pauseFor(ms: number, carrier: Carrier, clock: Pick<Clock, 'after'>): void {
  carrier.pause?.()
  clock.after(ms, () => carrier.resume?.())
}
