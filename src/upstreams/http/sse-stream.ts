import { createParser, type EventSourceParser } from 'eventsource-parser'
import { WholeBody } from './response-body.ts'
import { MAX_REFUSAL, said, SHOWN_BODY, unreachable } from './http-failures.ts'
import { challengeIn, isEventStream } from './response-reader.ts'
import type { Carrier, ReplyHandler, ReplyHeaders } from '../../http-client/handler.ts'

/** Who hears what comes on an event stream of HTTP+SSE. */
export interface EventStreamHost {
  readonly maxEvent: number
  endpoint(url: string): void
  message(text: Buffer): void
  /** The stream is over, and with it the connection; `status` where it was refused. */
  ended(why: string, status?: number): void
}

/** The event stream on which a server of HTTP+SSE (2024-11-05) says everything. */
export class EventStream implements ReplyHandler {
  readonly #host: EventStreamHost
  readonly #parser: EventSourceParser
  #carrier: Carrier | undefined
  /** What the server says beside a status that refuses the stream. */
  #refusal: WholeBody | undefined
  #isOver = false

  constructor(host: EventStreamHost) {
    this.#host = host
    this.#parser = createParser({
      maxBufferSize: host.maxEvent,
      onEvent: ({ event = 'message', data }) => {
        if (event === 'endpoint') host.endpoint(data)
        else if (event === 'message' && data !== '') this.#heard(data)
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLarge()
      },
    })
  }

  #heard(data: string): void {
    if (data.length > this.#host.maxEvent) this.#tooLarge()
    else if (!this.#isOver) this.#host.message(Buffer.from(data, 'latin1'))
  }

  #tooLarge(): void {
    this.end(`it sent a message larger than ${this.#host.maxEvent} bytes`)
  }

  /** Ends it from our side. */
  end(why: string, status?: number): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#carrier?.abort(this, new Error(why))
    this.#host.ended(why, status)
  }

  onSend(carrier: Carrier): void {
    this.#carrier = carrier
    if (this.#isOver) carrier.abort(this, new Error('no longer needed'))
  }

  onHead(status: number, headers: ReplyHeaders): void {
    if (status !== 200) this.#refused(status, challengeIn(headers))
    else if (!isEventStream(headers))
      this.end('it answers GET with something that is no event stream', status)
  }

  #refused(status: number, challenge: string | undefined): void {
    const why = `it answers GET with HTTP ${status}`
    this.#refusal = new WholeBody(MAX_REFUSAL, text =>
      this.end(`${why}${said(text.toString('utf8', 0, SHOWN_BODY), challenge)}`, status),
    )
  }

  onBody(bytes: Buffer): void {
    if (this.#refusal?.push(bytes) === false) this.end('it refuses GET with a very long text')
    if (this.#refusal !== undefined) return
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    if (!this.#isOver) this.#parser.feed(bytes.toString('latin1'))
  }

  onEnd(): void {
    this.#refusal?.end()
    this.end('it ended the event stream')
  }

  onError(error: Error): void {
    this.end(this.#carrier === undefined ? unreachable(error) : `the event stream broke (${error.message})`)
  }
}
