import type { Dispatcher } from 'undici'

/** Longest body of a receipt that is read, so that its connection can be used again. */
const MAX_BODY = 64 * 1024

/** The reply to what needs none: a notification, a reply of ours, or a goodbye. */
export class Receipt implements Dispatcher.DispatchHandler {
  readonly #done: () => void
  #size = 0

  constructor(done: () => void) {
    this.#done = done
  }

  onRequestStart(): void {
    // undici insists on this method.
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status >= 200) this.#done()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > MAX_BODY) controller.abort(new Error('nobody reads this body'))
  }

  onResponseEnd(): void {
    this.#done()
  }

  onResponseError(): void {
    this.#done()
  }
}
