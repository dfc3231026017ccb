import type * as Http from 'node:http'
import type * as Https from 'node:https'

const MAX_REPLY_BYTES = 64 * 1024

export interface CollectorReply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

interface CollectorRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal: AbortSignal
}

/**
 * HTTP client for one URL over one kept-alive connection. Sends bytes directly, because `fetch` converts them to
 * streams and takes three times the CPU. Does not follow redirects.
 */
export class CollectorClient {
  readonly #url: URL
  readonly #http: typeof Http | typeof Https
  readonly #agent: Http.Agent | Https.Agent

  constructor(url: string) {
    this.#url = new URL(url)
    this.#http = process.getBuiltinModule(this.#url.protocol === 'https:' ? 'node:https' : 'node:http')
    this.#agent = new this.#http.Agent({ keepAlive: true, maxSockets: 1 })
  }

  /** @throws Error if the connection fails or the signal is aborted */
  async send(message: CollectorRequest): Promise<CollectorReply> {
    try {
      return await this.#sendOnce(message)
    } catch (error) {
      // The server may have closed a kept-alive connection: try a new one.
      if (message.signal.aborted || !(error instanceof StaleConnection)) throw error
      return this.#sendOnce(message)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #sendOnce({ headers, body, signal }: CollectorRequest): Promise<CollectorReply> {
    const own = { ...headers, 'content-type': 'application/json', 'content-length': body.length }
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', agent: this.#agent, headers: own, signal }
      const request: Http.ClientRequest = this.#http.request(this.#url, options)
      let isAnswered = false
      request.on('response', response => {
        isAnswered = true
        readReply(response).then(resolve, reject)
      })
      request.on('error', cause => reject(request.reusedSocket && !isAnswered ? new StaleConnection(cause) : cause))
      request.end(body)
    })
  }
}

/** A kept-alive connection failed before the answer. */
class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Reads the start of a reply. */
async function readReply(response: Http.IncomingMessage): Promise<CollectorReply> {
  const { statusCode: status = 0, headers } = response
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_REPLY_BYTES) break
    chunks.push(chunk)
  }
  return { status, retryAfter: headers['retry-after'], text: Buffer.concat(chunks).toString('utf8') }
}

/** Initial buffer size. */
const INITIAL_BYTES = 64 * 1024
const MAX_BYTES_PER_CHARACTER = 3
const COMMA_CODE = 44

/** Request body start and end. */
interface EnvelopeBytes {
  readonly before: Buffer
  readonly after: Buffer
}

/** Queued spans as one byte buffer with commas, because thousands of strings would slow down garbage collection. */
export class SpanBuffer {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES)
  #first = 0
  #end = 0
  /** Span end offsets. */
  #entryEnds: number[] = []

  get count(): number {
    return this.#entryEnds.length
  }

  get bytes(): number {
    return this.#end - this.#first
  }

  add(span: string): void {
    if (this.#end + span.length * MAX_BYTES_PER_CHARACTER + 1 > this.#bytes.length)
      this.#makeRoom(span.length * MAX_BYTES_PER_CHARACTER + 1)
    if (this.#entryEnds.length > 0) this.#bytes[this.#end++] = COMMA_CODE
    this.#end += this.#bytes.write(span, this.#end)
    this.#entryEnds.push(this.#end)
  }

  /** Returns a request body with the first spans, up to `most` and `mostBytes`; at least one. */
  takeBody(
    max: number,
    mostBytes: number,
    around: EnvelopeBytes,
  ): { readonly body: Buffer<ArrayBuffer>; readonly count: number } {
    let count = 0
    while (count < max && count < this.#entryEnds.length) {
      if (count > 0 && (this.#entryEnds[count] ?? 0) - this.#first > mostBytes) break
      count++
    }
    const end = this.#entryEnds[count - 1] ?? this.#first
    const { before, after } = around
    const body = Buffer.allocUnsafe(before.length + end - this.#first + after.length)
    before.copy(body)
    const at = before.length + this.#bytes.copy(body, before.length, this.#first, end)
    after.copy(body, at)
    return { body, count }
  }

  /** Removes the first spans. */
  remove(count: number): void {
    if (count === 0) return
    const end = this.#entryEnds[count - 1] ?? this.#end
    this.#entryEnds = this.#entryEnds.slice(count)
    // Also remove the comma before the next span.
    this.#first = this.#entryEnds.length === 0 ? this.#end : end + 1
    if (this.#entryEnds.length === 0) {
      this.#first = 0
      this.#end = 0
      if (this.#bytes.length > INITIAL_BYTES * MAX_BYTES_PER_CHARACTER) this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES)
    }
  }

  /** Compacts the buffer, or moves the spans to a larger one. */
  #makeRoom(more: number): void {
    const used = this.#end - this.#first
    const isEnough = used + more <= this.#bytes.length / 2
    const buffer = isEnough ? this.#bytes : Buffer.allocUnsafe(Math.max((used + more) * 2, INITIAL_BYTES))
    this.#bytes.copy(buffer, 0, this.#first, this.#end)
    this.#entryEnds = this.#entryEnds.map(end => end - this.#first)
    this.#bytes = buffer
    this.#first = 0
    this.#end = used
  }
}
