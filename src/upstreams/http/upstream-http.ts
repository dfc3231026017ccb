import type {
  Call,
  UpstreamContext,
  UpstreamHttp,
  UpstreamHttpReply,
  UpstreamHttpRequest,
  UpstreamEndpoint,
} from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { RequestControl, ReplyHandler, ReplyHeaders } from '../../net/http-client-types.ts'
import { createAuthorizedClient } from './authorized-client.ts'
import {
  createBrokenError,
  MAX_REFUSAL_BYTES,
  createLocalRefusal,
  parseRetryAfter,
  describeUnreachable,
} from './http-failures.ts'
import { isEncoded, WholeBody } from './response-reader.ts'
import { createPlainClient } from './open-client.ts'
import { addCallHeaders, createQuery } from './request.ts'

/** Concurrent requests; more are queued. */
const CONNECTIONS = 64

/** HTTP for upstreams that do not use MCP, over the same client. */
export function openUpstreamHttp(reach: UpstreamEndpoint, context: UpstreamContext): UpstreamHttp {
  const client = createPlainClient(reach, context, CONNECTIONS)
  const { name, version } = context.gateway
  return {
    request: request =>
      new Promise((resolve, reject) => {
        const own = withAccount(context, request.call)
        const headers = { 'user-agent': `${name}/${version}`, ...request.headers }
        addCallHeaders(headers, request.call.headers, request.headers)
        const { method, body, call } = request
        const path = withParameters(request.path, createQuery({}, own))
        createAuthorizedClient(client, own).dispatch(
          { method, path, headers, body, exchange: call.exchange },
          new WholeReplyReader(context.name, request, { resolve, reject }),
        )
      }),
    close: () => client.close(),
  }
}

/** Callers with different accounts share connections, as HTTP is stateless, but never credentials. */
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

interface PromiseCallbacks {
  readonly resolve: (reply: UpstreamHttpReply) => void
  readonly reject: (error: unknown) => void
}

class WholeReplyReader implements ReplyHandler {
  readonly #upstream: string
  readonly #request: UpstreamHttpRequest
  readonly #settle: PromiseCallbacks
  readonly #takeBackCancel: () => void
  #control: RequestControl | undefined
  #status = 0
  #body: WholeBody | undefined
  #isOver = false

  constructor(upstream: string, request: UpstreamHttpRequest, settle: PromiseCallbacks) {
    this.#upstream = upstream
    this.#request = request
    this.#settle = settle
    this.#takeBackCancel = request.call.onCancel(() => this.#rejectReply(gatewayError('GW_CANCELLED')))
  }

  onSend(control: RequestControl): void {
    this.#control = control
    if (this.#isOver) this.#abortRequest()
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    if (isEncoded(headers)) {
      const why = 'unrequested compression of the reply'
      return this.#rejectReply(gatewayError('GW_UPSTREAM_PROTOCOL', { upstream: this.#upstream, why }))
    }
    const length = Number(headers['content-length'])
    const isTooLarge = this.#request.method !== 'HEAD' && length > this.#request.maxBytes
    if (this.#isSuccess && isTooLarge) return this.#handleTooLarge()
    const limit = this.#isSuccess ? this.#request.maxBytes : MAX_REFUSAL_BYTES
    const about = { status, contentType: headers['content-type'], retryAfterMs: parseRetryAfter(headers) }
    this.#body = new WholeBody(limit, body => this.#settle.resolve({ ...about, body }))
  }

  onBody(bytes: Buffer): void {
    if (this.#isOver || this.#body?.push(bytes) !== false) return
    if (this.#isSuccess) return this.#handleTooLarge()
    this.onEnd()
    this.#abortRequest()
  }

  onEnd(): void {
    if (this.#isOver) return
    this.#finishReply()
    this.#body?.end()
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#finishReply()
    const upstream = this.#upstream
    if (this.#control !== undefined) return this.#settle.reject(createBrokenError(upstream, error, this.#status > 0))
    const why = describeUnreachable(error)
    this.#settle.reject(createLocalRefusal(upstream, error) ?? gatewayError('GW_UPSTREAM_DOWN', { upstream, why }))
  }

  get #isSuccess(): boolean {
    return this.#status < 300
  }

  #handleTooLarge(): void {
    const what = `a reply from upstream "${this.#upstream}"`
    this.#rejectReply(gatewayError('GW_TOO_LARGE', { what, limit: this.#request.maxBytes }))
  }

  #rejectReply(error: unknown): void {
    if (this.#isOver) return
    this.#finishReply()
    this.#settle.reject(error)
    this.#abortRequest()
  }

  #finishReply(): void {
    this.#isOver = true
    this.#takeBackCancel()
  }

  #abortRequest(): void {
    this.#control?.abort(this, new Error('reply not needed'))
  }
}
