import type { Exchange, Principal } from './exchange.ts'
import type { HttpMethod } from './upstream-http.ts'

/** One HTTP request toward an upstream, as whoever puts credentials on it sees it. */
export interface OutgoingRequest {
  readonly upstream: string
  readonly method: HttpMethod
  /** The account of its connection, as `accountOf` said; undefined where all callers share connections. */
  readonly account: string | undefined
  /** The call that it carries; undefined for what the gateway asks by itself, such as a handshake. */
  readonly exchange: Exchange | undefined
  /** The caller; for a handshake of an account the one who called last. Undefined where no caller is meant. */
  readonly principal: Principal | undefined
}

/** A server's 401 or 403. */
export interface UpstreamRefusal {
  readonly status: 401 | 403
  /** The whole of `WWW-Authenticate`. */
  readonly challenge: string | undefined
  /** The credentials that it refused. */
  readonly sent: CredentialHeaders
  /** 1 for the first refusal of this request, and one more for each time that it was sent again. */
  readonly attempt: number
}

/** Headers that carry credentials, lower case names. */
export type CredentialHeaders = Readonly<Record<string, string>>

/**
 * Puts credentials on the HTTP requests of one upstream: POST, GET and DELETE of Streamable HTTP and of HTTP+SSE, and the
 * handshake of a WebSocket. An error of a plugin's own table that it throws is the caller's answer.
 */
export interface Authorizer {
  /** The headers of a request; they win over those that are configured. */
  headers(request: OutgoingRequest): CredentialHeaders | Promise<CredentialHeaders>
  /** Parameters of the URL of all requests of an account, which win over those that are configured. */
  query?(account: string | undefined): Readonly<Record<string, string>>
  /** The server refused them. Others: the request is sent once more, three times at most. Undefined: the refusal stands. */
  refused(request: OutgoingRequest, refusal: UpstreamRefusal): Promise<CredentialHeaders | undefined>
  /**
   * The account of a caller at this upstream. With it, callers of different accounts share no connection, no session and no
   * notification; without it, all share them. A throw refuses the call.
   */
  accountOf?(principal: Principal): string
}
