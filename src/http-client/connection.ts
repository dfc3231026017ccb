import type { Socket } from 'node:net'
import { connect as connectPlain, isIP } from 'node:net'
import type { Clock } from '../api/index.ts'
import type { RequestControl, ClientRequest, Detour, HttpTransport, ReplyHandler } from './transport.ts'
import { ClientError, needsDetour } from './transport.ts'
import { writeTogether } from '../util/written.ts'
import type { ReplyHead } from './reply-head.ts'
import type { ReplyParserCallbacks } from './reply-parser.ts'
import { ReplyParser } from './reply-parser.ts'
import { getPlatform } from '../util/platform.ts'

/** Dependencies of a connection: the client that it belongs to. */
export interface ConnectionDeps {
  readonly origin: ServerOrigin
  readonly clock: Clock
  readonly connectMs: number
  readonly client: HttpTransport
  readonly detour: Detour | undefined
  /** Tells that the connection has come about. */
  onConnected(connection: ClientConnection): void
  /** Tells that the connection has brought a reply, and can take another request. */
  onReady(connection: ClientConnection): void
  /** Tells that the connection is of no more use; `error` where it never came about. */
  onClosed(connection: ClientConnection, error: Error | undefined): void
}

/** A request as it is written; text has a character for each byte. */
export type EncodedRequest = string | Buffer | readonly Buffer[]

/** The place that requests are sent to. */
export interface ServerOrigin {
  /** As the `host` header says it. */
  readonly host: string
  readonly hostname: string
  readonly port: number
  /** Opens TLS connections; undefined for plain ones. */
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

/** Longest life of an idle connection where the server says nothing. */
const DEFAULT_IDLE_MS = 4000

/** So much earlier than the server, as our next request must not cross its goodbye. */
const KEEP_ALIVE_MARGIN_MS = 2000

const MAX_IDLE_MS = 600_000

/**
 * The bytes of a read stand here until they are handled, which is at once: a system call fills it just before we are told. Only
 * Windows is given the place ahead of time, so there each connection has its own.
 */
const shared = getPlatform().name === 'win32' ? undefined : Buffer.allocUnsafeSlow(READ_BYTES)

/** One connection to a server, kept open between requests. One request at a time. */
export class ClientConnection implements RequestControl, ReplyParserCallbacks {
  readonly #deps: ConnectionDeps
  readonly #parser = new ReplyParser(this)
  readonly #socket: Socket
  readonly #clearConnectTimeout: () => void
  #handler: ReplyHandler | undefined
  /** Reads the reply in place of the handler. */
  #detour: ReplyHandler | undefined
  /** The request whose reply is awaited, if a detour may need it. */
  #request: ClientRequest | undefined
  #isConnected = false
  #isOver = false
  #error: Error | undefined
  #head: ReplyHead | undefined
  /** When it must not be used any more, by the clock, while it is idle. */
  #staleAt = 0

  constructor(host: ConnectionDeps) {
    this.#deps = host
    const { origin, clock, connectMs } = host
    this.#socket = origin.tls === undefined ? this.#openPlain(origin) : this.#openSecure(origin, origin.tls)
    this.#socket.on('error', error => (this.#error ??= error))
    this.#socket.on('end', () => this.#handleEnd())
    this.#socket.on('close', () => this.#fail(this.#error ?? createClosedError()))
    this.#clearConnectTimeout = clock.after(connectMs, () =>
      this.#fail(new ClientError('CONNECT_TIMEOUT', `no connection within ${connectMs} ms`)),
    )
  }

  /** True while an idle connection may be used once more. */
  isFresh(now: number): boolean {
    return !this.#isOver && now < this.#staleAt
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Writes a request; false when it was given up in the last moment, and nothing was written. */
  send(text: EncodedRequest, handler: ReplyHandler, request: ClientRequest): boolean {
    this.#handler = handler
    this.#head = undefined
    handler.onSend(this)
    if (this.#handler !== handler) return false
    if (this.#deps.detour !== undefined) this.#request = request
    this.#parser.expect(typeof text === 'string' && text.startsWith('HEAD '))
    if (typeof text === 'string') this.#socket.write(text, 'latin1')
    else if (Buffer.isBuffer(text)) this.#socket.write(text)
    else writeTogether(this.#socket, text)
    return true
  }

  abort(handler: ReplyHandler, why: Error): void {
    if (this.#handler !== handler) return
    // A request that was not written yet leaves the connection as it is.
    if (this.#parser.isIdle) {
      this.#handler = undefined
      return handler.onError(why)
    }
    this.#fail(why)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Ends it, and the request that is on it. */
  destroy(why: Error): void {
    this.#fail(why)
  }

  head(head: ReplyHead): void {
    const { status, headers } = head
    this.#head = head
    if (this.#request !== undefined && needsDetour(status, headers)) this.#applyDetour(head, this.#request)
    const handler = this.#detour ?? this.#handler
    handler?.onHead(status, headers, this)
  }

  #applyDetour({ status, headers }: ReplyHead, request: ClientRequest): void {
    const { client, detour } = this.#deps
    const handler = this.#handler
    if (handler !== undefined)
      this.#detour = detour?.({ status, headers, request, handler, client, carrier: this })
  }

  /** Takes the handler, or what reads in its place, off the connection. */
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

  /** TLS hears a little later that all is written. A server that answers before it has read the request may never read it. */
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
  return new ClientError('SOCKET', 'other side closed')
}

/** Opens TLS connections, each later one with what the server remembers of the first. Loaded only where a URL wants it. */
export function createTlsConnect(): TlsConnect {
  const { connect } = process.getBuiltinModule('node:tls')
  let session: Buffer | undefined
  return options => {
    const socket = connect({ ...options, ...(session === undefined ? {} : { session }) })
    return socket.on('session', newest => (session = newest))
  }
}
