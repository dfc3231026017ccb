import type { TlsConfig } from '../config/config.gen.ts'
import type { Call } from './exchange.ts'

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
