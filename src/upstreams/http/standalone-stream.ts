import type { Clock } from '../../api/index.ts'
import { Backoff, HEALTHY_MS } from '../../transport/backoff.ts'
import { EventBody, startOfStream, type Position } from './response-body.ts'
import { unreachable } from './http-failures.ts'
import { isEventStream } from './response-reader.ts'
import type { Carrier, ReplyHandler, ReplyHeaders } from '../../http-client/port.ts'

/** Dependencies of a standing stream: the transport that it belongs to. */
interface StreamHost {
  readonly clock: Clock
  readonly maxEvent: number
  /** Sends the GET; `eventId` is where the last stream ended. */
  get(handler: ReplyHandler, eventId: string | undefined): void
  message(text: Buffer): void
  /** Tells that the stream is open again, and that the server cannot repeat what it said meanwhile. */
  reopened(): void
  lost(why: string): void
}

/** Longest pause that a server may ask for. */
const LONGEST_RETRY_MS = 30_000

/** The GET stream on which a legacy server says what belongs to no request; opened again when it ends. */
export class StandingStream implements ReplyHandler {
  readonly #host: StreamHost
  readonly #backoff = new Backoff()
  #carrier: Carrier | undefined
  #body: EventBody | undefined
  #position: Position = startOfStream()
  #openedAt = 0
  #hasBeenOpen = false
  #isWanted = true
  #takeBackRetry: (() => void) | undefined

  constructor(host: StreamHost) {
    this.#host = host
  }

  open(): void {
    this.#carrier = undefined
    this.#body = undefined
    this.#openedAt = this.#host.clock.now()
    if (this.#isWanted) this.#host.get(this, this.#position.eventId)
  }

  close(): void {
    this.#isWanted = false
    this.#takeBackRetry?.()
    this.#carrier?.abort(this, new Error('no longer needed'))
  }

  onSend(carrier: Carrier): void {
    this.#carrier = carrier
    if (!this.#isWanted) this.close()
  }

  onHead(status: number, headers: ReplyHeaders): void {
    // 405 and the like: the server has no such stream, which is its right. 5xx may pass.
    if (status !== 200 || !isEventStream(headers)) {
      if (status < 500) this.close()
      return
    }
    this.#body = new EventBody(this.#host.maxEvent, this.#position, text => this.#host.message(text))
    if (this.#hasBeenOpen && this.#position.eventId === undefined) this.#host.reopened()
    this.#hasBeenOpen = true
  }

  onBody(bytes: Buffer, carrier: Carrier): void {
    if (this.#body?.push(bytes) === false) carrier.abort(this, new Error('an event is too large'))
  }

  onEnd(): void {
    this.#again()
  }

  onError(error: Error): void {
    if (!this.#isWanted) return
    if (this.#carrier === undefined) this.#host.lost(unreachable(error))
    else this.#again()
  }

  #again(): void {
    if (!this.#isWanted) return
    const { clock } = this.#host
    if (clock.now() - this.#openedAt >= HEALTHY_MS) this.#backoff.reset()
    const pause = Math.max(this.#backoff.next(), Math.min(this.#position.retryMs ?? 0, LONGEST_RETRY_MS))
    this.#takeBackRetry = clock.after(pause, () => this.open())
  }
}
