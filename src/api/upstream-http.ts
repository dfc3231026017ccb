import type { TlsConfig } from '../config/config.gen.ts'
import type { Call, Exchange, Principal } from './exchange.ts'

/** Methods of HTTP that are sent toward servers. */
export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The place that a server is reached at over HTTP, and the way there, in the words of the configuration. */
export interface UpstreamReach {
  /** Only its origin counts. */
  readonly url: string
  readonly proxy?: string | false | undefined
  readonly tls?: TlsConfig | undefined
  readonly http2?: boolean | undefined
}

/** One request to a server that speaks HTTP and no MCP. */
export interface UpstreamHttpRequest {
  readonly method: HttpMethod
  /** Path and parameters, written for a URL. */
  readonly path: string
  /** Lower case names; `host`, `connection` and `content-length` are the client's own. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Most bytes of a reply that is no error. */
  readonly maxBytes: number
  /** The call that it carries: its headers go along, and it is given up with it. */
  readonly call: Call
}

/** A reply, whatever its status is. Of one that is an error no more than 64 KiB are kept. */
export interface UpstreamHttpReply {
  readonly status: number
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

/** HTTP to one origin. Redirects are not followed, and nothing is sent twice but what an authorizer sends again. */
export interface UpstreamHttp {
  /** @throws GatewayError where there is no whole reply */
  request(request: UpstreamHttpRequest): Promise<UpstreamHttpReply>
  /** Takes no more requests; resolves when the last one has ended. */
  close(): Promise<void>
}

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
