import type { Transform } from 'node:stream'
import {
  type Carrier,
  ClientError,
  type ClientRequest,
  type HttpTransport,
  type ReplyHandler,
  type ReplyHeaders,
} from '../../http-client/port.ts'

/** Redirects that one request follows. */
const MAX_REDIRECTS = 5

/** Follows redirects within the origin of `url`, and decodes bodies that a server compressed unasked. */
export function tolerant(client: HttpTransport, url: string): HttpTransport {
  const base = new URL(url)
  return {
    dispatch: (request, handler) =>
      client.dispatch(request, new TolerantReply(client, base, request, handler)),
    close: () => client.close(),
    destroy: () => client.destroy(),
  }
}

class TolerantReply implements ReplyHandler, Carrier {
  readonly onRead: ReplyHandler['onRead']
  readonly #client: HttpTransport
  readonly #base: URL
  readonly #handler: ReplyHandler
  #request: ClientRequest
  #carrier: Carrier | undefined
  #redirects = 0
  #isRedirected = false
  #decoder: Transform | undefined
  #isOver = false

  constructor(client: HttpTransport, base: URL, request: ClientRequest, handler: ReplyHandler) {
    this.#client = client
    this.#base = base
    this.#request = request
    this.#handler = handler
    if (handler.onRead !== undefined) this.onRead = began => handler.onRead?.(began, this)
  }

  abort(_handler: ReplyHandler, why: Error): void {
    if (this.#isOver) return
    this.#decoder?.destroy()
    if (this.#decoder?.writableEnded === true) return this.#fail(why)
    this.#carrier?.abort(this, why)
  }

  pause(): void {
    if (this.#decoder === undefined) this.#carrier?.pause?.()
    else this.#decoder.pause()
  }

  resume(): void {
    if (this.#decoder === undefined) this.#carrier?.resume?.()
    else this.#decoder.resume()
  }

  onSend(carrier: Carrier): void {
    this.#carrier = carrier
    this.#handler.onSend(this)
  }

  onHead(status: number, headers: ReplyHeaders, carrier: Carrier): void {
    this.#carrier = carrier
    const path = status === 307 || status === 308 ? this.#pathOf(headers.location) : undefined
    if (path !== undefined && this.#redirects < MAX_REDIRECTS) {
      this.#redirects++
      this.#request = { ...this.#request, path }
      this.#isRedirected = true
      return
    }
    const decoder = decoderOf(headers['content-encoding'])
    if (decoder === undefined) return this.#handler.onHead(status, headers, this)
    this.#decode(decoder)
    const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = headers
    this.#handler.onHead(status, rest, this)
  }

  onBody(bytes: Buffer): void {
    if (this.#isRedirected) return
    if (this.#decoder === undefined) return this.#handler.onBody(bytes, this)
    if (!this.#decoder.destroyed && !this.#decoder.write(Buffer.from(bytes))) this.#carrier?.pause?.()
  }

  onEnd(): void {
    if (this.#isRedirected) {
      this.#isRedirected = false
      this.#client.dispatch(this.#request, this)
    } else if (this.#decoder === undefined) this.#end()
    else this.#decoder.end()
  }

  onError(error: Error): void {
    this.#decoder?.destroy()
    this.#fail(error)
  }

  /** Each piece is decoded and handed on before the next: the limits of the handler bound the decoded size. */
  #decode(decoder: Transform): void {
    this.#decoder = decoder
    decoder.on('data', (bytes: Buffer) => {
      if (!this.#isOver) this.#handler.onBody(bytes, this)
    })
    decoder.on('drain', () => this.#carrier?.resume?.())
    decoder.on('end', () => this.#end())
    decoder.on('error', ({ message }) => {
      const error = new ClientError('MALFORMED', `its body cannot be decoded: ${message}`)
      this.#carrier?.abort(this, error)
      this.#fail(error)
    })
  }

  #pathOf(location: string | undefined): string | undefined {
    const target =
      location === undefined ? null : URL.parse(location, new URL(this.#request.path, this.#base).href)
    return target?.origin === this.#base.origin ? target.pathname + target.search : undefined
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onEnd()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onError(error)
  }
}

function decoderOf(encoding: string | undefined): Transform | undefined {
  if (encoding === undefined) return undefined
  const zlib = process.getBuiltinModule('node:zlib')
  const sync = zlib.constants.Z_SYNC_FLUSH
  const name = encoding.trim().toLowerCase()
  if (name === 'gzip' || name === 'x-gzip') return zlib.createGunzip({ flush: sync })
  if (name === 'deflate') return zlib.createInflate({ flush: sync })
  if (name === 'br') return zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })
  return undefined
}
