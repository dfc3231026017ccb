import type { Carrier, ReplyHandler } from '../../http-client/handler.ts'

/** Longest body of a receipt that is read, so that its connection can be used again. */
const MAX_BODY = 64 * 1024

/** The reply to what needs none: a notification, a reply of ours, or a goodbye. */
export class Receipt implements ReplyHandler {
  readonly #done: () => void
  #size = 0

  constructor(done: () => void) {
    this.#done = done
  }

  onSend(): void {
    // It cannot be given up.
  }

  onHead(): void {
    this.#done()
  }

  onBody(bytes: Buffer, carrier: Carrier): void {
    this.#size += bytes.length
    if (this.#size > MAX_BODY) carrier.abort(this, new Error('nobody reads this body'))
  }

  onEnd(): void {
    this.#done()
  }

  onError(): void {
    this.#done()
  }
}
