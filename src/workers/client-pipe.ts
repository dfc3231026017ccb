import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** The client on stdin and stdout of a gateway of several processes. The first worker has it, for as long as that lives. */
export class ClientPipe {
  /** Resolves when the client has gone, or the process that spoke to it. */
  readonly ended: Promise<void>
  #onEnded: () => void = () => undefined
  #isGiven = false
  #hasLost = false

  constructor() {
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
  }

  /** True while no process has been given it. */
  get isHere(): boolean {
    return !this.#isGiven
  }

  /** True while the process that it was given to lives. */
  get isServed(): boolean {
    return this.#isGiven && !this.#hasLost
  }

  /** A process has inherited it. Nobody else keeps it open, so that its client sees it close when that process ends. */
  given(): void {
    this.#isGiven = true
    for (const [fd, mode] of [
      [0, 'r'],
      [1, 'w'],
    ] as const) {
      closeSync(fd)
      // The lowest number that is free: nothing that is opened later is taken for a pipe.
      openSync(devNull, mode)
    }
  }

  /** Its client has gone. */
  end(): void {
    this.#onEnded()
  }

  /** The process that had it has ended. */
  lose(): void {
    this.#hasLost = true
    this.end()
  }
}
