import type { Carrier, ReplyHandler } from '../../../http-client/port.ts'

/** A request to another process, which may be given up before a connection is there to carry it. */
export class CarriedRequest {
  readonly #handler: ReplyHandler
  #carrier: Carrier | undefined
  #givenUp: Error | undefined

  /** The handler hears why it was given up. */
  constructor(handler: ReplyHandler) {
    this.#handler = handler
  }

  get wasSent(): boolean {
    return this.#carrier !== undefined
  }

  /** A connection is there. */
  sendBy(carrier: Carrier): void {
    if (this.#givenUp !== undefined) return carrier.abort(this.#handler, this.#givenUp)
    this.#carrier = carrier
  }

  giveUp(why: Error): void {
    this.#givenUp = why
    this.#carrier?.abort(this.#handler, why)
  }

  /** Reads on after a pause. */
  resume(): void {
    this.#carrier?.resume?.()
  }
}
