import { WholeBody } from './response-body.ts'
import { MAX_REFUSAL, SHOWN_BODY, type StatusReply } from './http-failures.ts'
import { challengeIn } from './response-reader.ts'
import type { Carrier, ReplyHandler, ReplyHeaders } from '../../http-client/handler.ts'

/** What came of a POST: its status and the beginning of its body, or what broke it. */
export type Receipt = StatusReply | { readonly error: Error }

/** The reply to a POST of HTTP+SSE: a status that says whether the message was taken. */
export class ReceiptHandler implements ReplyHandler {
  readonly #done: (receipt: Receipt) => void
  readonly #body: WholeBody
  #status = 0
  #challenge: string | undefined

  constructor(done: (receipt: Receipt) => void) {
    this.#done = done
    this.#body = new WholeBody(MAX_REFUSAL, text =>
      done({ status: this.#status, body: text.toString('utf8', 0, SHOWN_BODY), challenge: this.#challenge }),
    )
  }

  onSend(): void {
    // It cannot be given up.
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    this.#challenge = challengeIn(headers)
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
