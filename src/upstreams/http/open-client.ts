import type { Transform } from 'node:stream'
import type { UpstreamContext, UpstreamEndpoint } from '../../api/index.ts'
import { HttpClient } from '../../net/http-client.ts'
import type {
  RequestControl,
  ClientRequest,
  ReplyRewriter,
  HttpTransport,
  RewritableReply,
  ReplyHandler,
  ReplyHeaders,
} from '../../net/http-client-types.ts'
import { ClientError } from '../../net/http-client-types.ts'
import { findProxy } from '../../net/proxy.ts'
import { UndiciClient } from '../../net/undici-client.ts'
import { readTlsFiles } from '../tls-files.ts'
import { createAuthorizedClient } from './authorized-client.ts'

const CONNECT_MS = 5000

/** Creates the HTTP client for an upstream, with its authorizer's credentials. */
export function openClient(reach: UpstreamEndpoint, context: UpstreamContext, connections: number): HttpTransport {
  return createAuthorizedClient(createPlainClient(reach, context, connections, createReplyRewriter(reach.url)), context)
}

/** Returns the fast client, or the undici one for proxies, certificates or HTTP/2. */
export function createPlainClient(
  { url, proxy, tls, http2 = false }: UpstreamEndpoint,
  context: UpstreamContext,
  connections: number,
  detour?: ReplyRewriter,
): HttpTransport {
  const target = new URL(url)
  const { clock, environment, log } = context
  const through = proxy ?? findProxy(target, environment)
  const sizes = { connections, connectMs: CONNECT_MS, detour }
  if (typeof through !== 'string' && tls === undefined && !http2) return new HttpClient(target, { clock, ...sizes })
  if (typeof through === 'string') log.debug('connecting through a proxy', { proxy: new URL(through).host })
  return new UndiciClient(target, {
    ...sizes,
    http2,
    proxy: typeof through === 'string' ? through : undefined,
    tls: tls === undefined ? undefined : readTlsFiles(tls, context),
  })
}

const MAX_REDIRECTS = 5

/** Longest redirect body to read, so that its connection can be reused. */
const MAX_BODY = 64 * 1024

/** Follows redirects within the origin of `url`, and decodes bodies that a server compressed unasked. */
export function createReplyRewriter(url: string): ReplyRewriter {
  const base = new URL(url)
  return reply => {
    const { headers, request, handler, client, control } = reply
    const redirects = (request.redirects ?? 0) + 1
    const path = redirects > MAX_REDIRECTS ? undefined : getRedirectPath(reply, base)
    if (path !== undefined) return new RedirectHandler(client, { ...request, path, redirects }, handler)
    const decoder = createDecoder(headers['content-encoding'])
    return decoder === undefined ? undefined : new DecodingHandler(decoder, handler, control)
  }
}

function getRedirectPath({ status, headers, request }: RewritableReply, base: URL): string | undefined {
  const { location } = headers
  if ((status !== 307 && status !== 308) || location === undefined) return undefined
  const target = URL.parse(location, new URL(request.path, base).href)
  return target?.origin === base.origin ? target.pathname + target.search : undefined
}

/** Reads a redirect completely, then repeats the request. */
class RedirectHandler implements ReplyHandler {
  readonly #client: HttpTransport
  readonly #next: ClientRequest
  readonly #handler: ReplyHandler
  #size = 0

  constructor(client: HttpTransport, next: ClientRequest, handler: ReplyHandler) {
    this.#client = client
    this.#next = next
    this.#handler = handler
  }

  onSend(): void {
    // The request was sent before the redirect arrived.
  }

  onHead(): void {
    // Already read.
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    this.#size += bytes.length
    if (this.#size > MAX_BODY) control.abort(this.#handler, new Error('redirect body too large'))
  }

  onEnd(): void {
    this.#client.dispatch(this.#next, this.#handler)
  }

  onError(error: Error): void {
    this.#handler.onError(error)
  }
}

/** Forwards decoded reply chunks, so that the handler's limits apply to the decoded size. */
class DecodingHandler implements ReplyHandler, RequestControl {
  readonly #decoder: Transform
  readonly #handler: ReplyHandler
  readonly #control: RequestControl
  #isRead = false
  #isOver = false

  constructor(decoder: Transform, handler: ReplyHandler, control: RequestControl) {
    this.#decoder = decoder
    this.#handler = handler
    this.#control = control
    decoder.on('data', (bytes: Buffer) => this.#handler.onBody(bytes, this))
    decoder.on('drain', () => this.#control.resume?.())
    decoder.on('end', () => this.#finishDecoding(() => this.#handler.onEnd()))
    decoder.on('error', ({ message }) =>
      this.abort(handler, new ClientError('MALFORMED', `decoding the body failed: ${message}`)),
    )
  }

  abort(_handler: ReplyHandler, error: Error): void {
    if (this.#isRead) this.onError(error)
    else this.#control.abort(this.#handler, error)
  }

  pause(): void {
    this.#decoder.pause()
  }

  resume(): void {
    this.#decoder.resume()
  }

  onSend(): void {
    // The request was sent before the reply arrived.
  }

  onHead(status: number, headers: ReplyHeaders): void {
    const { 'content-encoding': _encoding, 'content-length': _length, ...decodedHeaders } = headers
    this.#handler.onSend(this)
    this.#handler.onHead(status, decodedHeaders, this)
  }

  onBody(bytes: Buffer): void {
    if (!this.#isOver && !this.#decoder.write(Buffer.from(bytes))) this.#control.pause?.()
  }

  onEnd(): void {
    this.#isRead = true
    this.#decoder.end()
  }

  onError(error: Error): void {
    this.#finishDecoding(() => this.#handler.onError(error))
  }

  #finishDecoding(notify: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#decoder.removeAllListeners('data').destroy()
    notify()
  }
}

function createDecoder(encoding: string | undefined): Transform | undefined {
  if (encoding === undefined) return undefined
  const zlib = process.getBuiltinModule('node:zlib')
  const sync = zlib.constants.Z_SYNC_FLUSH
  const name = encoding.trim().toLowerCase()
  if (name === 'gzip' || name === 'x-gzip') return zlib.createGunzip({ flush: sync })
  if (name === 'deflate') return zlib.createInflate({ flush: sync })
  if (name === 'br') return zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })
  return undefined
}
