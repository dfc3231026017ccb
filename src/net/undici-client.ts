import type { SecureContext } from 'node:tls'
import type * as Undici from 'undici'
import type { Dispatcher } from 'undici'
import { joinPieces } from '../util/messages.ts'
import type {
  RequestControl,
  ClientRequest,
  ReplyRewriter,
  HttpTransport,
  RewritableReply,
  ReplyHandler,
  ReplyHeaders,
} from './http-client-types.ts'
import {
  ClientError,
  createDestroyedError,
  needsRewriting,
  MAX_HEAD,
  MAX_INTERIM,
  MAX_WAITING,
  READ_HEADERS,
} from './http-client-types.ts'

/** TLS credentials and CA, in PEM. */
export interface TlsMaterial {
  /** Replaces the system's CAs. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly passphrase?: string | undefined
}

export interface UndiciClientOptions {
  /** Connection limit; further requests queue. */
  readonly connections: number
  /** Connect timeout, including TLS. */
  readonly connectMs: number
  readonly proxy?: string | undefined
  readonly tls?: TlsMaterial | undefined
  /** Offers HTTP/2 over TLS. */
  readonly http2: boolean
  /** Replaces the handler for redirects and encoded replies. */
  readonly detour?: ReplyRewriter | undefined
}

/**
 * HTTP client on undici for proxies, custom CAs and client certificates, and HTTP/2. Loads undici lazily. No
 * redirects, decompression or retries; the only timeout is for connecting.
 */
export class UndiciClient implements HttpTransport {
  readonly #origin: string
  readonly #detour: ReplyRewriter | undefined
  readonly #ready: Promise<void>
  #dispatcher: Dispatcher | undefined
  /** Requests queued until undici is loaded. */
  readonly #early: [ClientRequest, ReplyHandler][] = []
  /** Unsent request count, shared with the requests. */
  readonly #waiting = { count: 0 }
  /** Permanent error without a dispatcher. */
  #failure: Error | undefined

  constructor({ origin }: URL, options: UndiciClientOptions) {
    this.#origin = origin
    this.#detour = options.detour
    this.#ready = import('undici')
      .then(undici => this.#setDispatcher(createUndiciDispatcher(undici, origin, options)))
      .catch((error: unknown) => this.#fail(error as Error))
  }

  dispatch(request: ClientRequest, handler: ReplyHandler): void {
    if (this.#failure !== undefined) return handler.onError(this.#failure)
    if (this.#waiting.count + this.#early.length >= MAX_WAITING)
      return handler.onError(new ClientError('OVERFLOW', 'request queue is full'))
    if (this.#dispatcher === undefined) this.#early.push([request, handler])
    else this.#send(this.#dispatcher, request, handler)
  }

  async close(): Promise<void> {
    this.#failure ??= createDestroyedError()
    await this.#ready
    await this.#dispatcher?.close().catch(() => undefined)
  }

  async destroy(): Promise<void> {
    this.#fail(createDestroyedError())
    await this.#ready
    await this.#dispatcher?.destroy(createDestroyedError())
  }

  #setDispatcher(dispatcher: Dispatcher): void {
    this.#dispatcher = dispatcher
    for (const [request, handler] of this.#early.splice(0)) this.#send(dispatcher, request, handler)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const [, handler] of this.#early.splice(0)) handler.onError(error)
  }

  #send(dispatcher: Dispatcher, request: ClientRequest, handler: ReplyHandler): void {
    const { method, path, body } = request
    const detour = (odd: ReplyStart, control: RequestControl): ReplyHandler | undefined =>
      this.#detour?.({ ...odd, request, handler, control, client: this })
    const reply = new UndiciReply(handler, this.#waiting, detour)
    try {
      // Event streams may be silent for hours.
      const silent = { headersTimeout: 0, bodyTimeout: 0 }
      const joinedBody = body === undefined ? undefined : joinPieces(body)
      const headers = { ...request.headers }
      dispatcher.dispatch({ origin: this.#origin, method, path, headers, body: joinedBody, ...silent }, reply)
    } catch (error) {
      reply.onResponseError(undefined, error as Error)
    }
  }
}

function createUndiciDispatcher(
  { Pool, ProxyAgent }: typeof Undici,
  origin: string,
  { connections, connectMs, proxy, tls, http2 }: UndiciClientOptions,
): Dispatcher {
  const pool = { connections, pipelining: 1, allowH2: http2, maxHeaderSize: MAX_HEAD }
  const trust = tls === undefined ? {} : { secureContext: createTlsContext(tls) }
  const connect: Undici.buildConnector.BuildOptions = {
    ...trust,
    timeout: connectMs,
    allowH2: http2,
    preferH2: http2,
  }
  if (proxy === undefined) return new Pool(origin, { ...pool, connect })
  return new ProxyAgent({
    ...pool,
    uri: proxy,
    requestTls: connect,
    proxyTls: { timeout: connectMs, allowH2: false, ...createProxyTrust(tls?.ca) },
    // A silent proxy counts as unreachable.
    clientFactory: (to, options: Undici.Pool.Options) => new Pool(to, { ...options, headersTimeout: connectMs }),
    factory: (to, options: Undici.Pool.Options) => new Pool(to, { ...options, ...pool }),
  })
}

/** Created early, so that invalid certificates fail before connecting. */
function createTlsContext({ ca, cert, key, passphrase }: TlsMaterial): SecureContext {
  return process.getBuiltinModule('node:tls').createSecureContext({ ca, cert, key, passphrase })
}

/** Trust the configured CA and the defaults, as a proxy may use either. */
function createProxyTrust(ca: string | undefined): { ca?: string[] } {
  if (ca === undefined) return {}
  return { ca: [ca, ...process.getBuiltinModule('node:tls').getCACertificates('default')] }
}

type ReplyStart = Pick<RewritableReply, 'status' | 'headers'>
type FindReplyRewriter = (odd: ReplyStart, control: RequestControl) => ReplyHandler | undefined

class UndiciReply implements Dispatcher.DispatchHandler, RequestControl {
  readonly #handler: ReplyHandler
  readonly #waiting: { count: number }
  readonly #detour: FindReplyRewriter
  /** The handler, or a detour. */
  #reader: ReplyHandler
  #controller: Dispatcher.DispatchController | undefined
  #interim = 0
  #isOver = false
  #isWaiting = true

  constructor(handler: ReplyHandler, waiting: { count: number }, detour: FindReplyRewriter) {
    this.#handler = this.#reader = handler
    this.#detour = detour
    this.#waiting = waiting
    waiting.count++
  }

  abort(handler: ReplyHandler, error: Error): void {
    if (this.#isOver || handler !== this.#handler) return
    this.#finish()
    this.#controller?.abort(error)
    this.#reader.onError(error)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    if (!this.#isOver) this.#controller?.resume()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#markStarted()
    if (!this.#isOver) this.#handler.onSend(this)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#isOver) return
    if (status >= 200) {
      const head = selectHeaders(headers)
      if (needsRewriting(status, head)) this.#reader = this.#detour({ status, headers: head }, this) ?? this.#handler
      this.#reader.onHead(status, head, this)
    } else if (status === 101 || ++this.#interim > MAX_INTERIM)
      this.abort(this.#handler, new ClientError('MALFORMED', `unexpected HTTP ${status}`))
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.#isOver) this.#reader.onBody(bytes, this)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#finish()
    this.#reader.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isOver) return
    this.#finish()
    this.#reader.onError(toClientError(error))
  }

  #finish(): void {
    this.#isOver = true
    this.#markStarted()
  }

  #markStarted(): void {
    if (this.#isWaiting) this.#waiting.count--
    this.#isWaiting = false
  }
}

function selectHeaders(headers: Record<string, string | string[] | undefined>): ReplyHeaders {
  const selected: { -readonly [K in keyof ReplyHeaders]: ReplyHeaders[K] } = {}
  for (const name of READ_HEADERS.values()) {
    const value = headers[name]
    if (value !== undefined) selected[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return selected
}

const CODES: Readonly<Record<string, ClientError['code']>> = {
  UND_ERR_CONNECT_TIMEOUT: 'CONNECT_TIMEOUT',
  // Only proxies have a headers timeout.
  UND_ERR_HEADERS_TIMEOUT: 'PROXY',
  UND_ERR_SOCKET: 'SOCKET',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'MALFORMED',
  UND_ERR_HEADERS_OVERFLOW: 'MALFORMED',
  UND_ERR_DESTROYED: 'DESTROYED',
  UND_ERR_CLOSED: 'DESTROYED',
  UND_ERR_INVALID_ARG: 'INVALID_ARG',
  UND_ERR_PRX_TLS: 'PROXY',
  UND_ERR_PRX_CONN: 'PROXY',
}

/** Maps undici errors to ClientError; system errors are unchanged. */
function toClientError(error: Error): Error {
  const status = /proxy.*?\b(\d{3})\b/i.exec(error.message)?.[1]
  if (status !== undefined) return new ClientError('PROXY', `proxy returned HTTP ${status}`)
  if (error.name === 'HTTPParserError') return new ClientError('MALFORMED', error.message)
  const code = CODES[String((error as NodeJS.ErrnoException).code)]
  return code === undefined ? error : new ClientError(code, error.message)
}
