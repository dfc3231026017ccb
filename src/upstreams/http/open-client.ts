import type { UpstreamContext, UpstreamEndpoint } from '../../api/index.ts'
import { HttpClient } from '../../net/http-client.ts'
import type {
  RequestControl,
  ClientRequest,
  ReplyRewriter,
  HttpTransport,
  RewritableReply,
  ReplyHandler,
} from '../../net/http-client-types.ts'
import { isRedirect } from '../../net/http-client-types.ts'
import { findProxy } from '../../net/proxy.ts'
import { UndiciClient } from '../../net/undici-client.ts'
import { readTlsFiles } from '../tls-files.ts'
import { createAuthorizedClient } from './authorized-client.ts'

const CONNECT_MS = 5000

/** Creates the HTTP client for an upstream, with its authorizer's credentials. */
export function openClient(reach: UpstreamEndpoint, context: UpstreamContext, connections: number): HttpTransport {
  return createAuthorizedClient(createPlainClient(reach, context, connections, createReplyRewriter(reach.url)), context)
}

/** Returns the fast client, or the undici one for proxies, certificates or HTTP/2. */
export function createPlainClient(
  { url, proxy, tls, http2 = false }: UpstreamEndpoint,
  context: UpstreamContext,
  connections: number,
  detour?: ReplyRewriter,
): HttpTransport {
  const target = new URL(url)
  const { clock, environment, log } = context
  const through = proxy ?? findProxy(target, environment)
  const sizes = { connections, connectMs: CONNECT_MS, detour }
  if (typeof through !== 'string' && tls === undefined && !http2) return new HttpClient(target, { clock, ...sizes })
  if (typeof through === 'string') log.debug('connecting through a proxy', { proxy: new URL(through).host })
  return new UndiciClient(target, {
    ...sizes,
    http2,
    proxy: typeof through === 'string' ? through : undefined,
    tls: tls === undefined ? undefined : readTlsFiles(tls, context),
  })
}

const MAX_REDIRECTS = 5

/** Longest redirect body to read, so that its connection can be reused. */
const MAX_BODY = 64 * 1024

/** Follows redirects within the origin of `url`. */
export function createReplyRewriter(url: string): ReplyRewriter {
  const base = new URL(url)
  return reply => {
    const { request, handler, client } = reply
    const redirects = (request.redirects ?? 0) + 1
    const path = redirects > MAX_REDIRECTS ? undefined : getRedirectPath(reply, base)
    return path === undefined ? undefined : new RedirectHandler(client, { ...request, path, redirects }, handler)
  }
}

function getRedirectPath({ status, headers, request }: RewritableReply, base: URL): string | undefined {
  const { location } = headers
  if (!isRedirect(status) || location === undefined) return undefined
  const target = URL.parse(location, new URL(request.path, base).href)
  return target?.origin === base.origin ? target.pathname + target.search : undefined
}

/** Reads a redirect completely, then repeats the request. */
class RedirectHandler implements ReplyHandler {
  readonly #client: HttpTransport
  readonly #next: ClientRequest
  readonly #handler: ReplyHandler
  #size = 0

  constructor(client: HttpTransport, next: ClientRequest, handler: ReplyHandler) {
    this.#client = client
    this.#next = next
    this.#handler = handler
  }

  onSend(): void {
    // The request was sent before the redirect arrived.
  }

  onHead(): void {
    // Already read.
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    this.#size += bytes.length
    if (this.#size > MAX_BODY) control.abort(this.#handler, new Error('redirect body too large'))
  }

  onEnd(): void {
    this.#client.dispatch(this.#next, this.#handler)
  }

  onError(error: Error): void {
    this.#handler.onError(error)
  }
}
