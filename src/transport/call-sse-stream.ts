import type { IncomingHttpHeaders } from 'node:http'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { unreachable } from './call-http-failure.ts'
import { isEventStream } from './call-http-reply.ts'

/** Who hears what comes on an event stream of HTTP+SSE. */
export interface EventStreamHost {
  readonly maxEvent: number
  endpoint(url: string): void
  message(text: Buffer): void
  /** The stream is over, and with it the connection; `status` where it was refused. */
  ended(why: string, status?: number): void
}

/** The event stream on which a server of HTTP+SSE (2024-11-05) says everything. */
export class EventStream implements Dispatcher.DispatchHandler {
  readonly #host: EventStreamHost
  readonly #parser: EventSourceParser
  #controller: Dispatcher.DispatchController | undefined
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
    this.#controller?.abort(new Error(why))
    this.#host.ended(why, status)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('no longer needed'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return
    if (status !== 200) this.end(`it answers GET with HTTP ${status}`, status)
    else if (!isEventStream(headers))
      this.end('it answers GET with something that is no event stream', status)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    if (!this.#isOver) this.#parser.feed(chunk.toString('latin1'))
  }

  onResponseEnd(): void {
    this.end('it ended the event stream')
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.end(
      this.#controller === undefined ? unreachable(error) : `the event stream broke (${error.message})`,
    )
  }
}
