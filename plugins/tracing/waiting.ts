import type * as Http from 'node:http'
import type * as Https from 'node:https'

const MAX_REPLY_BYTES = 64 * 1024

/** The reply of a collector, as far as it matters here. */
export interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal: AbortSignal
}

/**
 * Posts to one URL over one connection that is kept. Bytes go out as they are: `fetch` makes streams of them, and costs
 * the thread three times as much. Redirects are not followed.
 */
export class Post {
  readonly #url: URL
  readonly #http: typeof Http | typeof Https
  readonly #agent: Http.Agent | Https.Agent

  constructor(url: string) {
    this.#url = new URL(url)
    this.#http = process.getBuiltinModule(this.#url.protocol === 'https:' ? 'node:https' : 'node:http')
    this.#agent = new this.#http.Agent({ keepAlive: true, maxSockets: 1 })
  }

  /** @throws Error where nobody answers, or the signal is aborted */
  async send(message: Message): Promise<Reply> {
    try {
      return await this.#try(message)
    } catch (error) {
      // A kept connection may have been closed at the other end meanwhile; a new one tells.
      if (message.signal.aborted || !(error instanceof StaleConnection)) throw error
      return this.#try(message)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #try({ headers, body, signal }: Message): Promise<Reply> {
    const own = { ...headers, 'content-type': 'application/json', 'content-length': body.length }
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', agent: this.#agent, headers: own, signal }
      const request: Http.ClientRequest = this.#http.request(this.#url, options)
      let isAnswered = false
      request.on('response', response => {
        isAnswered = true
        read(response).then(resolve, reject)
      })
      request.on('error', cause =>
        reject(request.reusedSocket && !isAnswered ? new StaleConnection(cause) : cause),
      )
      request.end(body)
    })
  }
}

/** A connection that was kept failed before anything was answered on it. */
class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** The beginning of a reply: what is longer is nothing that a collector says. */
async function read(response: Http.IncomingMessage): Promise<Reply> {
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

/** Room at the beginning, and for each span at least: JSON of one is some hundred characters. */
const FIRST_BYTES = 64 * 1024
/** Bytes of a character in UTF-8 at most. */
const WIDEST = 3
const COMMA = 44

/** Beginning and end of a request. */
interface Around {
  readonly before: Buffer
  readonly after: Buffer
}

/**
 * Spans that wait, as bytes in a row with commas between them: as texts they would be thousands of objects that grow
 * old, and cost more to collect than to write.
 */
export class SpanBuffer {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #first = 0
  #end = 0
  /** Where each of them ends. */
  #ends: number[] = []

  get count(): number {
    return this.#ends.length
  }

  get bytes(): number {
    return this.#end - this.#first
  }

  add(span: string): void {
    if (this.#end + span.length * WIDEST + 1 > this.#bytes.length) this.#grow(span.length * WIDEST + 1)
    if (this.#ends.length > 0) this.#bytes[this.#end++] = COMMA
    this.#end += this.#bytes.write(span, this.#end)
    this.#ends.push(this.#end)
  }

  /** The first of them with a text around them: so many, and no more than so many bytes unless one alone is larger. */
  first(
    most: number,
    mostBytes: number,
    around: Around,
  ): { readonly body: Buffer<ArrayBuffer>; readonly count: number } {
    let count = 0
    while (count < most && count < this.#ends.length) {
      if (count > 0 && (this.#ends[count] ?? 0) - this.#first > mostBytes) break
      count++
    }
    const end = this.#ends[count - 1] ?? this.#first
    const { before, after } = around
    const body = Buffer.allocUnsafe(before.length + end - this.#first + after.length)
    before.copy(body)
    const at = before.length + this.#bytes.copy(body, before.length, this.#first, end)
    after.copy(body, at)
    return { body, count }
  }

  /** Takes the first of them away. */
  take(count: number): void {
    if (count === 0) return
    const end = this.#ends[count - 1] ?? this.#end
    this.#ends = this.#ends.slice(count)
    // The comma before the next one goes, too.
    this.#first = this.#ends.length === 0 ? this.#end : end + 1
    if (this.#ends.length === 0) {
      this.#first = 0
      this.#end = 0
      if (this.#bytes.length > FIRST_BYTES * WIDEST) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES)
    }
  }

  /** Moves what waits to the beginning of a place that is large enough. */
  #grow(more: number): void {
    const used = this.#end - this.#first
    const isEnough = used + more <= this.#bytes.length / 2
    const place = isEnough ? this.#bytes : Buffer.allocUnsafe(Math.max((used + more) * 2, FIRST_BYTES))
    this.#bytes.copy(place, 0, this.#first, this.#end)
    this.#ends = this.#ends.map(end => end - this.#first)
    this.#bytes = place
    this.#first = 0
    this.#end = used
  }
}
