import type {
  Call,
  UpstreamContext,
  UpstreamHttp,
  UpstreamHttpReply,
  UpstreamHttpRequest,
  UpstreamEndpoint,
} from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { RequestControl, ReplyHandler, ReplyHeaders } from '../../http-client/transport.ts'
import { authorized } from './authorized-client.ts'
import { brokenFailure, MAX_REFUSAL, refusedHere, retryAfterMs, unreachable } from './http-failures.ts'
import { plainClient } from './open-client.ts'
import { addCallHeaders, createQuery } from './request.ts'

/** Requests open at once; more wait for their turn. */
const CONNECTIONS = 64

/** HTTP for upstreams that speak no MCP, over the client that all others use. */
export function openUpstreamHttp(reach: UpstreamEndpoint, context: UpstreamContext): UpstreamHttp {
  const { url, proxy, tls, http2 = false } = reach
  const way = {
    ...{ url, http2 },
    ...(proxy === undefined ? {} : { proxy }),
    ...(tls === undefined ? {} : { tls }),
  }
  const client = plainClient(way, context, CONNECTIONS)
  const { name, version } = context.gateway
  return {
    request: request =>
      new Promise((resolve, reject) => {
        const own = withAccount(context, request.call)
        const headers = { 'user-agent': `${name}/${version}`, ...request.headers }
        addCallHeaders(headers, request.call.headers, request.headers)
        const { method, body, call } = request
        const path = withParameters(request.path, createQuery({}, own))
        authorized(client, own).dispatch(
          { method, path, headers, body, exchange: call.exchange },
          new WholeReply(context.name, request, { resolve, reject }),
        )
      }),
    close: () => client.close(),
  }
}

/** Callers of different accounts share connections, as HTTP keeps nothing between two requests, and never credentials. */
function withAccount(context: UpstreamContext, { exchange }: Call): UpstreamContext {
  const { authorizer } = context
  const account = authorizer?.getAccount?.(exchange.principal)
  return account === undefined ? context : { ...context, account }
}

function withParameters(path: string, query: Readonly<Record<string, string>> | undefined): string {
  const added = Object.entries(query ?? {}).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  )
  if (added.length === 0) return path
  return `${path}${path.includes('?') ? '&' : '?'}${added.join('&')}`
}

interface Settle {
  readonly resolve: (reply: UpstreamHttpReply) => void
  readonly reject: (error: unknown) => void
}

/** Reads one reply whole. */
class WholeReply implements ReplyHandler {
  readonly #upstream: string
  readonly #request: UpstreamHttpRequest
  readonly #settle: Settle
  readonly #takeBackCancel: () => void
  readonly #pieces: Buffer[] = []
  #carrier: RequestControl | undefined
  #status = 0
  #headers: ReplyHeaders = {}
  #size = 0
  #isOver = false

  constructor(upstream: string, request: UpstreamHttpRequest, settle: Settle) {
    this.#upstream = upstream
    this.#request = request
    this.#settle = settle
    this.#takeBackCancel = request.call.onCancel(() => this.#fail(gatewayError('GW_CANCELLED')))
  }

  onSend(carrier: RequestControl): void {
    this.#carrier = carrier
    if (this.#isOver) this.#abort()
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    this.#headers = headers
    const encoding = headers['content-encoding'] ?? ''
    if (encoding !== '' && encoding !== 'identity')
      this.#fail(
        gatewayError('GW_UPSTREAM_PROTOCOL', {
          upstream: this.#upstream,
          why: 'it compresses its replies, which was not asked for',
        }),
      )
    const hasBody = this.#request.method !== 'HEAD'
    if (this.#isFine && hasBody && Number(headers['content-length']) > this.#request.maxBytes)
      this.#tooLarge()
  }

  onBody(bytes: Buffer): void {
    if (this.#isOver) return
    const limit = this.#isFine ? this.#request.maxBytes : MAX_REFUSAL
    const room = limit - this.#size
    if (bytes.length > room && this.#isFine) return this.#tooLarge()
    this.#size += bytes.length
    this.#pieces.push(Buffer.from(bytes.subarray(0, room)))
    if (bytes.length <= room) return
    this.onEnd()
    this.#abort()
  }

  onEnd(): void {
    if (this.#isOver) return
    this.#end()
    this.#settle.resolve({
      status: this.#status,
      contentType: this.#headers['content-type'],
      retryAfterMs: retryAfterMs(this.#headers),
      body: Buffer.concat(this.#pieces),
    })
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#end()
    const upstream = this.#upstream
    if (this.#carrier !== undefined)
      return this.#settle.reject(brokenFailure(upstream, error, this.#status > 0))
    const why = unreachable(error)
    this.#settle.reject(refusedHere(upstream, error) ?? gatewayError('GW_UPSTREAM_DOWN', { upstream, why }))
  }

  get #isFine(): boolean {
    return this.#status < 300
  }

  #tooLarge(): void {
    const what = `a reply of upstream "${this.#upstream}"`
    this.#fail(gatewayError('GW_TOO_LARGE', { what, limit: this.#request.maxBytes }))
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#settle.reject(error)
    this.#abort()
  }

  #end(): void {
    this.#isOver = true
    this.#takeBackCancel()
  }

  #abort(): void {
    this.#carrier?.abort(this, new Error('nobody waits for this reply'))
  }
}
