import type { Exchange, HttpMethod } from '../api/index.ts'
import type { EncodedMessage } from '../util/messages.ts'

/** HTTP to one origin. */
export interface HttpTransport {
  /** Queues a request. All errors go to the handler. */
  dispatch(request: ClientRequest, handler: ReplyHandler): void
  /** Refuses new requests; resolves after the last reply. */
  close(): Promise<void>
  /** Closes all connections and fails all requests. */
  destroy(): Promise<void>
}

/** A request with lower-case header names; the client sets `host`, `connection` and `content-length`. */
export interface ClientRequest {
  readonly method: HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: EncodedMessage | undefined
  /** The MCP exchange, for authorization. */
  readonly exchange?: Exchange | undefined
  /** Redirects so far. */
  readonly redirects?: number
}

const READ_HEADER_NAMES = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'location',
  'mcp-session-id',
  'www-authenticate',
  'retry-after',
  'transfer-encoding',
] as const

type ReadHeaderName = (typeof READ_HEADER_NAMES)[number]

/** Headers that are parsed; others are validated and discarded. */
export const READ_HEADERS: ReadonlyMap<string, ReadHeaderName> = new Map(READ_HEADER_NAMES.map(name => [name, name]))

export type ReplyHeaders = Readonly<Partial<Record<ReadHeaderName, string>>>

/** Controls a request that was sent. */
export interface RequestControl {
  /** Aborts a reply; `error` goes to `onError`. No effect after its end. */
  abort(handler: ReplyHandler, error: Error): void
  /** Pauses reading, if supported. */
  pause?(): void
  resume?(): void
}

/**
 * Callbacks for one request: `onSend`, `onHead`, `onBody` per piece, then `onEnd`; or `onError` once, at any time.
 */
export interface ReplyHandler {
  /**
   * Called just before the request is written; without this call it was never sent. Repeated if the request is sent
   * again.
   */
  onSend(control: RequestControl): void
  /** Final status; 1xx are skipped. */
  onHead(status: number, headers: ReplyHeaders, control: RequestControl): void
  /** `bytes` are valid only during the call; copy them to retain them. */
  onBody(bytes: Buffer, control: RequestControl): void
  onEnd(): void
  onError(error: Error): void
}

/** A reply that may need another handler. */
export interface RewritableReply {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly request: ClientRequest
  readonly handler: ReplyHandler
  readonly control: RequestControl
  /** The client that sent the request. */
  readonly client: HttpTransport
}

/** Returns a handler for a redirect or an encoded reply; undefined for the original one. */
export type ReplyRewriter = (reply: RewritableReply) => ReplyHandler | undefined

/** True for redirects and encoded replies. */
export function needsRewriting(status: number, headers: ReplyHeaders): boolean {
  return status === 307 || status === 308 || headers['content-encoding'] !== undefined
}

type ClientErrorCode = 'INVALID_ARG' | 'CONNECT_TIMEOUT' | 'SOCKET' | 'MALFORMED' | 'DESTROYED' | 'OVERFLOW' | 'PROXY'

/** A client error; system errors are passed as they are. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ClientErrorCode

  constructor(code: ClientErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export function createDestroyedError(): ClientError {
  return new ClientError('DESTROYED', 'client is closed')
}

/** Queue limit. */
export const MAX_WAITING = 20_000
/** Largest reply head, in bytes. */
export const MAX_HEAD = 16 * 1024
/** Limit on 1xx replies before the final one. */
export const MAX_INTERIM = 16
