import { createParser, type ParserCallbacks } from 'eventsource-parser'

/** Reads the body of a reply. */
export interface Body {
  /** Takes a piece, whose bytes are the sender's again afterwards; false when the body is larger than allowed. */
  push(chunk: Buffer): boolean
  end(): void
  /** Bytes that it keeps. */
  readonly held: number
}

/** One text, whole. */
export class WholeBody implements Body {
  held = 0
  readonly #limit: number
  readonly #done: (text: Buffer) => void
  #memory: Buffer

  /** `length` is what the reply says, or NaN: memory for all of it is taken once, at half the cost. */
  constructor(limit: number, done: (text: Buffer) => void, length = NaN) {
    this.#limit = limit
    this.#done = done
    this.#memory = Buffer.allocUnsafe(length <= limit ? length : 0)
  }

  push(chunk: Buffer): boolean {
    const length = this.held + chunk.length
    if (length > this.#limit) return false
    if (length > this.#memory.length) {
      const memory = Buffer.allocUnsafe(Math.max(length, 2 * this.held))
      this.#memory.copy(memory, 0, 0, this.held)
      this.#memory = memory
    }
    chunk.copy(this.#memory, this.held)
    this.held = length
    return true
  }

  end(): void {
    this.#done(this.#memory.subarray(0, this.held))
  }
}

/** The place at which a stream of events can be taken up again. */
export interface Position {
  /** Id of the last event that had one. */
  eventId: string | undefined
  /** The server's wish for a pause before the next connection, in milliseconds. */
  retryMs: number | undefined
  /** Events seen on this connection. */
  events: number
  /** Connections in a row that brought nothing. */
  fruitless: number
}

export function startOfStream(): Position {
  return { eventId: undefined, retryMs: undefined, events: 0, fruitless: 0 }
}

/** Returns a function that reads a stream of server-sent events piece by piece. */
export function createEventReader(
  callbacks: ParserCallbacks & { maxBufferSize: number },
): (chunk: Buffer) => void {
  const parser = createParser(callbacks)
  let isAfterCr = false
  return chunk => {
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    const text = chunk.toString('latin1')
    const begin = isAfterCr && text.startsWith('\n') ? 1 : 0
    isAfterCr = text.endsWith('\r') || (isAfterCr && text === '')
    // The parser waits for the character after a CR, so that the last event would never arrive.
    parser.feed(text.includes('\r') ? text.slice(begin).replace(/\r\n?/g, '\n') : text.slice(begin))
  }
}

/** Server-sent events, each holding one message. */
export class EventBody implements Body {
  readonly position: Position
  readonly #read: (chunk: Buffer) => void
  #isTooLarge = false
  /** Bytes since the last event. */
  held = 0

  constructor(limit: number, position: Position, message: (text: Buffer) => void) {
    this.position = position
    this.#read = createEventReader({
      maxBufferSize: limit,
      onEvent: ({ id, event, data }) => {
        this.held = 0
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
    this.held += chunk.length
    if (!this.#isTooLarge) this.#read(chunk)
    return !this.#isTooLarge
  }

  end(): void {
    // An event that its blank line does not end is no event.
  }
}
