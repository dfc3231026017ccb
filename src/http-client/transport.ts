import type { Exchange, HttpMethod } from '../api/index.ts'
import type { EncodedMessage } from '../util/written.ts'

/** HTTP to one origin: a request in; a head, a body and an end out. */
export interface HttpTransport {
  /** Sends a request as soon as there is a connection for it. Whatever goes wrong is the handler's to hear. */
  dispatch(request: ClientRequest, handler: ReplyHandler): void
  /** Takes no more requests; resolves when the last one has ended. */
  close(): Promise<void>
  /** Ends all connections, and fails what is on them or waits. */
  destroy(): Promise<void>
}

/** A request as the client writes it. Header names in lower case; `host`, `connection` and `content-length` are its own. */
export interface ClientRequest {
  readonly method: HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: EncodedMessage | undefined
  /** The call that it carries, for whoever puts credentials on it. */
  readonly exchange?: Exchange | undefined
  /** Redirects that led to this request. */
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

/** The headers of a reply that anybody here reads; all others are checked and forgotten. */
export const READ_HEADERS: ReadonlyMap<string, ReadHeaderName> = new Map(
  READ_HEADER_NAMES.map(name => [name, name]),
)

export type ReplyHeaders = Readonly<Partial<Record<ReadHeaderName, string>>>

/** Carries a request that was sent. */
export interface RequestControl {
  /** Gives up a reply that nobody waits for; `why` goes to its handler's `onError`. Nothing happens once it is over. */
  abort(handler: ReplyHandler, why: Error): void
  /** Reads no more until `resume`, where it can. */
  pause?(): void
  resume?(): void
}

/** Hears what comes of one request: `onSend`, `onHead`, `onBody` for each piece, then `onEnd` – or `onError`, once, at any time. */
export interface ReplyHandler {
  /**
   * A connection is there, and the request is written next. A request that never gets here was never sent. Comes again if another
   * carrier takes over.
   */
  onSend(carrier: RequestControl): void
  /** The final status; interim ones (1xx) are passed over. */
  onHead(status: number, headers: ReplyHeaders, carrier: RequestControl): void
  /** The bytes are the handler's for the length of this call: a handler that keeps them copies them. */
  onBody(bytes: Buffer, carrier: RequestControl): void
  onEnd(): void
  onError(error: Error): void
}

/** A reply that may need another reader than the handler of its request. */
export interface DetourReply {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly request: ClientRequest
  readonly handler: ReplyHandler
  readonly carrier: RequestControl
  /** Sent the request. */
  readonly client: HttpTransport
}

/** Returns what reads a redirect or an encoded reply in place of its handler; undefined if the handler does. */
export type Detour = (reply: DetourReply) => ReplyHandler | undefined

/** True if a reply is one that a detour is asked for. */
export function needsDetour(status: number, headers: ReplyHeaders): boolean {
  return status === 307 || status === 308 || headers['content-encoding'] !== undefined
}

type ClientErrorCode =
  'INVALID_ARG' | 'CONNECT_TIMEOUT' | 'SOCKET' | 'MALFORMED' | 'DESTROYED' | 'OVERFLOW' | 'PROXY'

/** A failure on the way to a server; errors of the system come as they are. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ClientErrorCode

  constructor(code: ClientErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The error of a request that a closed client does not send. */
export function createDestroyedError(): ClientError {
  return new ClientError('DESTROYED', 'the client is closed')
}

/** Most requests that may wait for a connection. */
export const MAX_WAITING = 20_000
/** Largest head of a reply, in bytes. */
export const MAX_HEAD = 16 * 1024
/** Interim replies (1xx) ahead of one reply. */
export const MAX_INTERIM = 16
