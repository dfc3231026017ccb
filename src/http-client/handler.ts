/** A request as the client writes it. Header names in lower case; `host`, `connection` and `content-length` are its own. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

const READ = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'mcp-session-id',
  'www-authenticate',
  'retry-after',
  'transfer-encoding',
] as const

type ReadName = (typeof READ)[number]

/** The headers of a reply that anybody here reads; all others are checked and forgotten. */
export const READ_HEADERS: ReadonlyMap<string, ReadName> = new Map(READ.map(name => [name, name]))

export type ReplyHeaders = Readonly<Partial<Record<ReadName, string>>>

/** What carries a request that was sent. */
export interface Carrier {
  /** Nobody waits for this reply any more; `why` goes to its handler's `onError`. Nothing happens once it is over. */
  abort(handler: ReplyHandler, why: Error): void
}

/** Hears what comes of one request: `onSend`, `onHead`, `onBody` for each piece, then `onEnd` – or `onError`, once, at any time. */
export interface ReplyHandler {
  /** A connection is there, and the request is written next. What never gets here was never sent. */
  onSend(carrier: Carrier): void
  /** The final status; interim ones (1xx) are not told. */
  onHead(status: number, headers: ReplyHeaders, carrier: Carrier): void
  /** The bytes are the handler's for the length of this call: what it keeps it copies. */
  onBody(bytes: Buffer, carrier: Carrier): void
  onEnd(): void
  onError(error: Error): void
}

export type ClientErrorCode =
  'INVALID_ARG' | 'CONNECT_TIMEOUT' | 'SOCKET' | 'MALFORMED' | 'DESTROYED' | 'OVERFLOW'

/** What went wrong on our way to a server; errors of the system come as they are. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ClientErrorCode

  constructor(code: ClientErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
