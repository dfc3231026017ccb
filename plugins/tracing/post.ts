import type * as Http from 'node:http'
import type * as Https from 'node:https'

const MOST_REPLY_BYTES = 64 * 1024

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
    if (length > MOST_REPLY_BYTES) break
    chunks.push(chunk)
  }
  return { status, retryAfter: headers['retry-after'], text: Buffer.concat(chunks).toString('utf8') }
}
