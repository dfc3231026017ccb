import type { Authorizer, CredentialHeaders, OutgoingRequest, UpstreamContext } from '../../api/index.ts'
import type {
  RequestControl,
  ClientRequest,
  HttpTransport,
  ReplyHandler,
  ReplyHeaders,
} from '../../net/http-client-types.ts'
import { MAX_REFUSAL_BYTES } from './http-failures.ts'
import { WholeBody } from './response-reader.ts'

/** Retries per request with new credentials. */
const MAX_RETRIES = 3

/** Adds an authorizer's credentials to each request, and retries a rejected request with new ones. */
export function createAuthorizedClient(client: HttpTransport, context: UpstreamContext): HttpTransport {
  const { authorizer, name, account, caller } = context
  if (authorizer === undefined) return client
  return {
    dispatch: (request, handler) => {
      const { method, exchange } = request
      const principal = exchange?.principal ?? caller?.()
      const outgoing = { upstream: name, method, account, exchange, principal }
      new AuthorizedRequest({ client, authorizer, request, outgoing, handler }).sendFirst()
    },
    close: () => client.close(),
    destroy: () => client.destroy(),
  }
}

interface AuthorizedRequestDeps {
  readonly client: HttpTransport
  readonly authorizer: Authorizer
  readonly request: ClientRequest
  /** The request for the authorizer. */
  readonly outgoing: OutgoingRequest
  readonly handler: ReplyHandler
}

/** One request with its credentials, until its final answer. */
class AuthorizedRequest implements ReplyHandler, RequestControl {
  readonly #parts: AuthorizedRequestDeps
  #sent: CredentialHeaders = {}
  /** Current attempt number. */
  #attempt = 0
  #control: RequestControl | undefined
  /** A rejection, read completely before the authorizer runs. */
  #refusal: { readonly status: 401 | 403; readonly headers: ReplyHeaders; readonly body: WholeBody } | undefined
  #abortedBecause: Error | undefined
  #isOver = false

  constructor(parts: AuthorizedRequestDeps) {
    this.#parts = parts
  }

  sendFirst(): void {
    const { authorizer, outgoing } = this.#parts
    try {
      const headers = authorizer.headers(outgoing)
      if (headers instanceof Promise) headers.then(later => this.#sendAttempt(later), this.#failRequest)
      else this.#sendAttempt(headers)
    } catch (error) {
      this.#failRequest(error)
    }
  }

  abort(_handler: ReplyHandler, error: Error): void {
    if (this.#isOver) return
    this.#abortedBecause ??= error
    if (this.#control === undefined) this.#failRequest(error)
    else this.#control.abort(this, error)
  }

  onSend(control: RequestControl): void {
    this.#control = control
    if (this.#abortedBecause !== undefined) control.abort(this, this.#abortedBecause)
    else if (this.#attempt === 1) this.#parts.handler.onSend(this)
  }

  onHead(status: number, headers: ReplyHeaders): void {
    if ((status === 401 || status === 403) && this.#attempt <= MAX_RETRIES) {
      const body = new WholeBody(MAX_REFUSAL_BYTES, text => void this.#retryWithCredentials(text))
      this.#refusal = { status, headers, body }
    } else this.#parts.handler.onHead(status, headers, this)
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    if (this.#refusal === undefined) return this.#parts.handler.onBody(bytes, this)
    // Read no more than is ever shown; a new connection is cheaper than the remaining body.
    if (!this.#refusal.body.push(bytes)) control.abort(this, new Error('body not needed'))
  }

  onEnd(): void {
    if (this.#refusal === undefined) this.#finishRequest(handler => handler.onEnd())
    else this.#refusal.body.end()
  }

  onError(error: Error): void {
    if (this.#refusal === undefined || this.#abortedBecause !== undefined) this.#failRequest(error)
    else void this.#retryWithCredentials(Buffer.alloc(0))
  }

  #sendAttempt(headers: CredentialHeaders): void {
    if (this.#isOver) return
    const { client, request } = this.#parts
    this.#attempt++
    this.#sent = headers
    this.#refusal = undefined
    client.dispatch({ ...request, headers: { ...request.headers, ...headers } }, this)
  }

  async #retryWithCredentials(text: Buffer): Promise<void> {
    const refusal = this.#refusal
    if (refusal === undefined) return
    const { authorizer, outgoing } = this.#parts
    const { status, headers } = refusal
    const challenge = headers['www-authenticate']
    this.#control = undefined
    try {
      const rejection = { status, challenge, sent: this.#sent, attempt: this.#attempt }
      const newHeaders = await authorizer.refused(outgoing, rejection)
      if (newHeaders === undefined) this.#passRefusal(status, headers, text)
      else this.#sendAttempt(newHeaders)
    } catch (error) {
      this.#failRequest(error)
    }
  }

  /** The rejection is final. */
  #passRefusal(status: number, headers: ReplyHeaders, text: Buffer): void {
    if (this.#isOver) return
    const { handler } = this.#parts
    handler.onHead(status, headers, this)
    if (text.length > 0) handler.onBody(text, this)
    this.#finishRequest(() => handler.onEnd())
  }

  readonly #failRequest = (error: unknown): void => {
    const failure = error instanceof Error ? error : new Error(String(error))
    this.#finishRequest(handler => handler.onError(failure))
  }

  #finishRequest(notify: (handler: ReplyHandler) => void): void {
    if (this.#isOver) return
    this.#isOver = true
    notify(this.#parts.handler)
  }
}
