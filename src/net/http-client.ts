import type { EncodedMessage } from '../util/messages.ts'
import { getByteLength, toBuffers } from '../util/messages.ts'
import type { Clock } from '../api/index.ts'
import type { ConnectionDeps, ServerOrigin, EncodedRequest } from './http-connection.ts'
import { ClientConnection, createTlsConnect } from './http-connection.ts'
import type { ClientRequest, ReplyRewriter, HttpTransport, ReplyHandler } from './http-client-types.ts'
import { ClientError, createDestroyedError, MAX_WAITING } from './http-client-types.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Excludes control characters, so that a value cannot end its line. One byte per character. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const PATH = /^[\x21-\x7e]+$/

interface HttpClientOptions {
  readonly clock: Clock
  /** Connection limit; further requests queue. */
  readonly connections: number
  /** Connect timeout, including TLS. */
  readonly connectMs: number
  /** Replaces the handler for redirects and encoded replies. */
  readonly detour?: ReplyRewriter | undefined
}

interface QueuedRequest {
  readonly text: EncodedRequest
  readonly handler: ReplyHandler
  readonly request: ClientRequest
}

const SWEEP_MS = 1000
/** Larger bodies are not copied. */
const MAX_COPIED = 32 * 1024

/**
 * HTTP/1.1 client for one origin with keep-alive: one write per request, no stream per reply. No pipelining,
 * redirects, proxies or retries; the only timeout is for connecting.
 */
export class HttpClient implements HttpTransport {
  readonly #options: HttpClientOptions
  readonly #origin: ServerOrigin
  readonly #deps: ConnectionDeps
  readonly #all = new Set<ClientConnection>()
  readonly #connecting = new Set<ClientConnection>()
  /** Idle connections, most recently used last. */
  readonly #idle: ClientConnection[] = []
  readonly #waiting: QueuedRequest[] = []
  #cancelSweep: (() => void) | undefined
  #closing: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined
  /** Last connect error; undefined once connected. */
  #unreachable: Error | undefined
  #isOver = false
  #isScheduled = false

  constructor(url: URL, options: HttpClientOptions) {
    this.#options = options
    this.#origin = parseOrigin(url)
    this.#deps = {
      origin: this.#origin,
      clock: options.clock,
      connectMs: options.connectMs,
      client: this,
      detour: options.detour,
      onConnected: connection => this.#handleConnected(connection),
      onReady: connection => this.#sendNext(connection),
      onClosed: (connection, error) => this.#handleClosed(connection, error),
    }
  }

  dispatch(request: ClientRequest, handler: ReplyHandler): void {
    let text: EncodedRequest
    try {
      if (this.#isOver || this.#closing !== undefined) throw createDestroyedError()
      if (this.#waiting.length >= MAX_WAITING) throw new ClientError('OVERFLOW', 'request queue is full')
      text = encodeHttpRequest(request, this.#origin.host)
    } catch (error) {
      return handler.onError(error as Error)
    }
    this.#waiting.push({ text, handler, request })
    this.#open(this.#waiting.length - this.#idle.length)
    this.#schedule()
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>()
    this.#finishClose()
    return this.#closing.promise
  }

  destroy(): Promise<void> {
    this.#isOver = true
    this.#cancelSweep?.()
    this.#idle.length = 0
    for (const { handler } of this.#waiting.splice(0)) handler.onError(this.#unreachable ?? createDestroyedError())
    for (const connection of [...this.#all]) connection.destroy(createDestroyedError())
    this.#closing?.resolve()
    return Promise.resolve()
  }

  /** Sends in the next event loop turn, so that a close already received on an idle connection is processed first. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#sendWaiting)
  }

  readonly #sendWaiting = (): void => {
    this.#isScheduled = false
    while (this.#waiting.length > 0) {
      const connection = this.#takeIdle()
      if (connection === undefined) return this.#open(this.#waiting.length)
      this.#sendNext(connection)
    }
  }

  #takeIdle(): ClientConnection | undefined {
    const now = this.#options.clock.now()
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (last.isFresh(now)) return last
      last.destroy(createDestroyedError())
    }
    return undefined
  }

  /** Opens connections until `count` are connecting. */
  #open(count: number): void {
    const { connections } = this.#options
    while (this.#connecting.size < count && this.#all.size < connections) {
      const connection = new ClientConnection(this.#deps)
      this.#all.add(connection)
      this.#connecting.add(connection)
    }
  }

  #handleConnected(connection: ClientConnection): void {
    this.#unreachable = undefined
    this.#connecting.delete(connection)
    this.#sendNext(connection)
  }

  #sendNext(connection: ClientConnection): void {
    while (!connection.isOver) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      if (connection.send(next.text, next.handler, next.request)) return
    }
    if (connection.isOver) return
    this.#addIdle(connection)
  }

  #addIdle(connection: ClientConnection): void {
    this.#idle.push(connection)
    if (this.#closing !== undefined) return this.#finishClose()
    this.#cancelSweep ??= this.#options.clock.after(SWEEP_MS, () => this.#sweep())
  }

  #handleClosed(connection: ClientConnection, error: Error | undefined): void {
    this.#all.delete(connection)
    this.#connecting.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    // Each queued request has its own connection attempt, so one failure fails one request.
    this.#unreachable = error ?? this.#unreachable
    if (error !== undefined) this.#waiting.shift()?.handler.onError(error)
    if (!this.#isOver) this.#open(this.#waiting.length)
    this.#finishClose()
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    const now = this.#options.clock.now()
    for (const connection of [...this.#idle]) if (!connection.isFresh(now)) connection.destroy(createDestroyedError())
    if (this.#idle.length > 0) this.#cancelSweep = this.#options.clock.after(SWEEP_MS, () => this.#sweep())
  }

  /** Completes a pending close. */
  #finishClose(): void {
    if (this.#closing === undefined || this.#isOver) return
    if (this.#waiting.length === 0 && this.#all.size === this.#idle.length) void this.destroy()
  }
}

function parseOrigin({ protocol, host, hostname, port }: URL): ServerOrigin {
  const isSecure = protocol === 'https:'
  return {
    host,
    // URLs put IPv6 addresses in brackets.
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    tls: isSecure ? createTlsConnect() : undefined,
  }
}

/**
 * Encodes a request, in one piece unless it is large. Text holds one character per byte.
 * @throws ClientError if it cannot be encoded as HTTP/1.1
 */
function encodeHttpRequest({ method, path, headers, body }: ClientRequest, host: string): EncodedRequest {
  if (!PATH.test(path)) throw new ClientError('INVALID_ARG', 'invalid character in path')
  let named = ''
  for (const name in headers) named += formatHeaderLine(name, headers[name] as string)
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${named}`
  return body === undefined ? `${head}\r\n` : appendBody(head, body)
}

function formatHeaderLine(name: string, value: string): string {
  if (TOKEN.test(name) && VALUE.test(value)) return `${name}: ${value}\r\n`
  throw new ClientError('INVALID_ARG', `invalid header ${TOKEN.test(name) ? name : 'name'}`)
}

function appendBody(start: string, body: EncodedMessage): EncodedRequest {
  const length = getByteLength(body)
  const head = `${start}content-length: ${length}\r\n\r\n`
  if (typeof body !== 'string') {
    const pieces = [Buffer.from(head, 'latin1'), ...toBuffers(body)]
    return length > MAX_COPIED ? pieces : Buffer.concat(pieces)
  }
  // Equal lengths mean ASCII, which Latin-1 preserves.
  if (length === body.length) return head + body
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)])
}
