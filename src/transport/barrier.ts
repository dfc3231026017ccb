/** How long it stays up at first, and at most, in ticks. */
const FIRST = 5
const MOST = 400

/**
 * Keeps quiet calls from starting, so that one that asks comes to be alone. A call that is slow to end must not stop all
 * others for as long: after a time it is down for as long as it was up, and then up for twice that.
 */
export class Barrier {
  #isUp = false
  #since = 0
  #span = 0

  /** Whether it is up now, while somebody waits behind it. */
  isUp(ticks: number): boolean {
    if (this.#span === 0) this.#turn(true, ticks, FIRST)
    else if (ticks - this.#since >= this.#span)
      this.#turn(!this.#isUp, ticks, this.#isUp ? this.#span : Math.min(this.#span * 2, MOST))
    return this.#isUp
  }

  /** Who waited has come to be alone. */
  reset(): void {
    this.#span = 0
  }

  #turn(isUp: boolean, since: number, span: number): void {
    this.#isUp = isUp
    this.#since = since
    this.#span = span
  }
}
