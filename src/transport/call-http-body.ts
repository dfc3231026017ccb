import { createParser, type EventSourceParser } from 'eventsource-parser'

/** Reads the body of a reply. `push` and `end` return false when it is larger than allowed. */
export interface Body {
  push(chunk: Buffer): boolean
  end(): void
}

/** One text, whole. */
export class WholeBody implements Body {
  readonly #limit: number
  readonly #done: (text: Buffer) => void
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(limit: number, done: (text: Buffer) => void) {
    this.#limit = limit
    this.#done = done
  }

  push(chunk: Buffer): boolean {
    this.#size += chunk.length
    if (this.#size > this.#limit) return false
    this.#chunks.push(chunk)
    return true
  }

  end(): void {
    this.#done(
      this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#size),
    )
  }
}

/** Where a stream of events can be taken up again. */
export interface Position {
  /** Id of the last event that had one. */
  eventId: string | undefined
  /** How long the server wants us to wait before we come back, in milliseconds. */
  retryMs: number | undefined
  /** Events seen on this connection. */
  events: number
  /** Connections in a row that brought nothing. */
  fruitless: number
}

export function startOfStream(): Position {
  return { eventId: undefined, retryMs: undefined, events: 0, fruitless: 0 }
}

/** Server-sent events, each holding one message. */
export class EventBody implements Body {
  readonly position: Position
  readonly #parser: EventSourceParser
  #isTooLarge = false

  constructor(limit: number, position: Position, message: (text: Buffer) => void) {
    this.position = position
    this.#parser = createParser({
      maxBufferSize: limit,
      onEvent: ({ id, event, data }) => {
        position.events++
        if (id !== undefined && id !== '') position.eventId = id
        if (data !== '' && (event === undefined || event === 'message')) message(Buffer.from(data, 'latin1'))
      },
      onRetry: ms => {
        position.retryMs = ms
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#isTooLarge = true
      },
    })
  }

  push(chunk: Buffer): boolean {
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    if (!this.#isTooLarge) this.#parser.feed(chunk.toString('latin1'))
    return !this.#isTooLarge
  }

  end(): void {
    // An event that its blank line does not end is no event.
  }
}
