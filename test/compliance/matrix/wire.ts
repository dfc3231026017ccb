import type { Ear } from './heard.ts'
import type { Around, Json } from './peer.ts'

const TIMEOUT = 12_000

/** A pipe for JSON-RPC messages. */
export interface Pipe {
  onmessage?: (message: never) => void
  start(): Promise<void>
  send(message: never): Promise<void>
  close(): Promise<void>
}

interface WireFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** All that a request rejects with when the answer is an error. */
export class WireError extends Error {
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: WireFailure) {
    super(message)
    this.code = code
    this.data = data
  }
}

interface Waiting {
  readonly settle: (message: Json) => void
  readonly onProgress: ((progress: Json) => void) | undefined
  readonly token: unknown
}

/** Requests and notifications over a pipe, with nothing added or taken away. */
export class Wire {
  readonly heard: Ear
  readonly #pipe: Pipe
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  constructor(pipe: Pipe, heard: Ear) {
    this.#pipe = pipe
    this.heard = heard
  }

  async start(): Promise<void> {
    this.#pipe.onmessage = (message: Json) => this.#take(message)
    await this.#pipe.start()
  }

  request(method: string, params: Json, { signal, onProgress }: Around): Promise<Json> {
    const id = ++this.#lastId
    const token = (params['_meta'] as Json | undefined)?.['progressToken']
    return new Promise((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        act()
      }
      const settle = ({ error, result }: Json) =>
        end(() => (error ? reject(new WireError(error as WireFailure)) : resolve(result as Json)))
      const cancel = () => {
        this.#send({ method: 'notifications/cancelled', params: { requestId: id } })
        end(() => reject(new Error('cancelled')))
      }
      // A listening lasts as long as its listener wants.
      const timer = setTimeout(() => end(() => reject(new Error(`${method} was not answered`))), TIMEOUT)
      if (method === 'subscriptions/listen') clearTimeout(timer)
      signal?.addEventListener('abort', cancel, { once: true })
      this.#waiting.set(id, { settle, onProgress, token })
      this.#send({ id, method, params })
    })
  }

  close(): Promise<void> {
    return this.#pipe.close()
  }

  #send(message: Json): void {
    void this.#pipe.send({ jsonrpc: '2.0', ...message } as never)
  }

  #take(message: Json): void {
    if (typeof message['method'] !== 'string') return this.#waiting.get(message['id'] as number)?.settle(message)
    const params = (message['params'] ?? {}) as Json
    if (message['method'] === 'notifications/progress') this.#progress(params)
    else this.heard.hear(message['method'], params)
  }

  #progress(params: Json): void {
    const waiting = [...this.#waiting.values()].find(({ token }) => token === params['progressToken'])
    waiting?.onProgress?.(params)
  }
}
