import type { Dispatcher } from 'undici'
import { WholeBody } from './call-http-body.ts'

/** What came of a POST: its status and the beginning of its body, or what broke it. */
export type Receipt = { readonly status: number; readonly body: string } | { readonly error: Error }

/** Bodies of refusals are read to this length. */
const MAX_BODY = 64 * 1024

/** The reply to a POST of HTTP+SSE: a status that says whether the message was taken. */
export class ReceiptHandler implements Dispatcher.DispatchHandler {
  readonly #done: (receipt: Receipt) => void
  readonly #body: WholeBody
  #status = 0

  constructor(done: (receipt: Receipt) => void) {
    this.#done = done
    this.#body = new WholeBody(MAX_BODY, text =>
      done({ status: this.#status, body: text.toString('utf8', 0, 400) }),
    )
  }

  onRequestStart(): void {
    // undici insists on this method.
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body.push(chunk)) controller.abort(new Error('nobody reads this body'))
  }

  onResponseEnd(): void {
    this.#body.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#done(this.#status >= 200 ? { status: this.#status, body: '' } : { error })
  }
}
