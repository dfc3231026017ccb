import { WholeBody } from './call-http-body.ts'
import type { Carrier, ReplyHandler } from './http-client/handler.ts'

/** What came of a POST: its status and the beginning of its body, or what broke it. */
export type Receipt = { readonly status: number; readonly body: string } | { readonly error: Error }

/** Bodies of refusals are read to this length. */
const MAX_BODY = 64 * 1024

/** The reply to a POST of HTTP+SSE: a status that says whether the message was taken. */
export class ReceiptHandler implements ReplyHandler {
  readonly #done: (receipt: Receipt) => void
  readonly #body: WholeBody
  #status = 0

  constructor(done: (receipt: Receipt) => void) {
    this.#done = done
    this.#body = new WholeBody(MAX_BODY, text =>
      done({ status: this.#status, body: text.toString('utf8', 0, 400) }),
    )
  }

  onSend(): void {
    // It cannot be given up.
  }

  onHead(status: number): void {
    this.#status = status
  }

  onBody(bytes: Buffer, carrier: Carrier): void {
    if (!this.#body.push(bytes)) carrier.abort(this, new Error('nobody reads this body'))
  }

  onEnd(): void {
    this.#body.end()
  }

  onError(error: Error): void {
    this.#done(this.#status >= 200 ? { status: this.#status, body: '' } : { error })
  }
}
