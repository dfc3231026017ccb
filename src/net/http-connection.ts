import type { Socket } from 'node:net'
import { connect as connectPlain, isIP } from 'node:net'
import type { Clock } from '../api/index.ts'
import type { RequestControl, ClientRequest, ReplyRewriter, HttpTransport, ReplyHandler } from './http-client-types.ts'
import { ClientError, needsRewriting } from './http-client-types.ts'
import { writePieces } from '../util/messages.ts'
import type { ReplyHead, ReplyParserCallbacks } from './http1-reply-parser.ts'
import { ReplyParser } from './http1-reply-parser.ts'
import { getPlatform } from '../util/platform.ts'

/** Dependencies, given by the client. */
export interface ConnectionDeps {
  readonly origin: ServerOrigin
  readonly clock: Clock
  readonly connectMs: number
  readonly client: HttpTransport
  readonly detour: ReplyRewriter | undefined
  /** Called when connected. */
  onConnected(connection: ClientConnection): void
  /** Called when the connection is idle again. */
  onReady(connection: ClientConnection): void
  /** Called when the connection is closed; `error` is set if it never connected. */
  onClosed(connection: ClientConnection, error: Error | undefined): void
}

/** An encoded request; text holds one character per byte. */
export type EncodedRequest = string | Buffer | readonly Buffer[]

export interface ServerOrigin {
  /** Value for the `host` header. */
  readonly host: string
  readonly hostname: string
  readonly port: number
  /** Opens TLS connections; undefined for plain HTTP. */
  readonly tls: TlsConnect | undefined
}

type TlsConnect = (options: {
  readonly host: string
  readonly port: number
  readonly servername: string
  readonly ALPNProtocols: string[]
}) => Socket

const READ_BYTES = 64 * 1024

const KEEP_ALIVE_PROBE_MS = 60_000

/** Default idle timeout, if the server sends none. */
const DEFAULT_IDLE_MS = 4000

/** Subtracted from the server's timeout, so that a request does not race its close. */
const KEEP_ALIVE_MARGIN_MS = 2000

const MAX_IDLE_MS = 600_000

/**
 * Shared read buffer, as data is handled synchronously. Windows fills buffers ahead of time, so each connection has
 * its own there.
 */
const shared = getPlatform().name === 'win32' ? undefined : Buffer.allocUnsafeSlow(READ_BYTES)

/** A keep-alive connection with one request at a time. */
export class ClientConnection implements RequestControl, ReplyParserCallbacks {
  readonly #deps: ConnectionDeps
  readonly #parser = new ReplyParser(this)
  readonly #socket: Socket
  readonly #clearConnectTimeout: () => void
  #handler: ReplyHandler | undefined
  /** Replaces the handler for this reply. */
  #detour: ReplyHandler | undefined
  /** The current request, if there is a detour. */
  #request: ClientRequest | undefined
  #isConnected = false
  #isOver = false
  #error: Error | undefined
  #head: ReplyHead | undefined
  /** Clock time at which an idle connection expires. */
  #staleAt = 0

  constructor(host: ConnectionDeps) {
    this.#deps = host
    const { origin, clock, connectMs } = host
    this.#socket = origin.tls === undefined ? this.#openPlain(origin) : this.#openSecure(origin, origin.tls)
    this.#socket.on('error', error => (this.#error ??= error))
    this.#socket.on('end', () => this.#handleEnd())
    this.#socket.on('close', () => this.#fail(this.#error ?? createClosedError()))
    this.#clearConnectTimeout = clock.after(connectMs, () =>
      this.#fail(new ClientError('CONNECT_TIMEOUT', `connect timed out after ${connectMs} ms`)),
    )
  }

  /** True if an idle connection can be reused. */
  isFresh(now: number): boolean {
    return !this.#isOver && now < this.#staleAt
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Writes a request; false if it was aborted before it was written. */
  send(text: EncodedRequest, handler: ReplyHandler, request: ClientRequest): boolean {
    this.#handler = handler
    this.#head = undefined
    handler.onSend(this)
    if (this.#handler !== handler) return false
    if (this.#deps.detour !== undefined) this.#request = request
    this.#parser.expect(typeof text === 'string' && text.startsWith('HEAD '))
    if (typeof text === 'string') this.#socket.write(text, 'latin1')
    else if (Buffer.isBuffer(text)) this.#socket.write(text)
    else writePieces(this.#socket, text)
    return true
  }

  abort(handler: ReplyHandler, error: Error): void {
    if (this.#handler !== handler) return
    // An unwritten request leaves the connection usable.
    if (this.#parser.isIdle) {
      this.#handler = undefined
      return handler.onError(error)
    }
    this.#fail(error)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes the connection and fails its request. */
  destroy(error: Error): void {
    this.#fail(error)
  }

  head(head: ReplyHead): void {
    const { status, headers } = head
    this.#head = head
    if (this.#request !== undefined && needsRewriting(status, headers)) this.#applyDetour(head, this.#request)
    const handler = this.#detour ?? this.#handler
    handler?.onHead(status, headers, this)
  }

  #applyDetour({ status, headers }: ReplyHead, request: ClientRequest): void {
    const { client, detour } = this.#deps
    const handler = this.#handler
    if (handler !== undefined) this.#detour = detour?.({ status, headers, request, handler, client, control: this })
  }

  /** Detaches the current handler or detour. */
  #release(): ReplyHandler | undefined {
    const handler = this.#detour ?? this.#handler
    this.#handler = this.#detour = this.#request = undefined
    return handler
  }

  body(bytes: Buffer): void {
    const handler = this.#detour ?? this.#handler
    handler?.onBody(bytes, this)
  }

  end(isClean: boolean): void {
    const handler = this.#release()
    const head = this.#head
    if (!isClean || head?.keepsAlive !== true) this.#close()
    else if (this.#socket.writableLength === 0) this.#becomeIdle(head)
    else setImmediate(() => this.#becomeIdleIfWritten(head))
    handler?.onEnd()
  }

  /**
   * TLS reports flushed writes late. A server that replies early may never read the rest, so do not reuse the
   * connection then.
   */
  #becomeIdleIfWritten(head: ReplyHead): void {
    if (this.#isOver) return
    if (this.#socket.writableLength === 0) this.#becomeIdle(head)
    else this.#close()
  }

  #becomeIdle({ idleMs }: ReplyHead): void {
    const ms = idleMs === undefined ? DEFAULT_IDLE_MS : Math.min(idleMs - KEEP_ALIVE_MARGIN_MS, MAX_IDLE_MS)
    if (ms <= 0) return this.#close()
    this.#staleAt = this.#deps.clock.now() + ms
    this.#deps.onReady(this)
  }

  #openPlain({ hostname, port }: ServerOrigin): Socket {
    const buffer = shared ?? Buffer.allocUnsafeSlow(READ_BYTES)
    const callback = (length: number): boolean => {
      this.#read(buffer.subarray(0, length))
      return true
    }
    const socket = connectPlain({
      host: hostname,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
      onread: { buffer, callback },
    })
    return socket.once('connect', () => this.#connected())
  }

  #openSecure({ hostname, port }: ServerOrigin, connect: TlsConnect): Socket {
    const servername = isIP(hostname) === 0 ? hostname : ''
    const socket = connect({ host: hostname, port, servername, ALPNProtocols: ['http/1.1'] })
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    return socket.once('secureConnect', () => this.#connected())
  }

  #connected(): void {
    if (this.#isOver) return
    this.#isConnected = true
    this.#clearConnectTimeout()
    this.#staleAt = this.#deps.clock.now() + DEFAULT_IDLE_MS
    this.#deps.onConnected(this)
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) return
    try {
      this.#parser.push(bytes)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #handleEnd(): void {
    if (!this.#isOver && !this.#parser.handleConnectionEnd()) this.#fail(this.#error ?? createClosedError())
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    const handler = this.#release()
    this.#close(this.#isConnected ? undefined : error)
    handler?.onError(error)
  }

  #close(error?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#clearConnectTimeout()
    this.#parser.stop()
    this.#socket.destroy()
    this.#deps.onClosed(this, error)
  }
}

function createClosedError(): ClientError {
  return new ClientError('SOCKET', 'connection closed by server')
}

/** Opens TLS connections with session resumption. `node:tls` is loaded lazily. */
export function createTlsConnect(): TlsConnect {
  const { connect } = process.getBuiltinModule('node:tls')
  let session: Buffer | undefined
  return options => {
    const socket = connect({ ...options, ...(session === undefined ? {} : { session }) })
    return socket.on('session', newest => (session = newest))
  }
}
