import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type {
  Authorizer,
  CredentialHeaders,
  OutgoingRequest,
  UpstreamContext,
  UpstreamRefusal,
} from '../../api/index.ts'
import type { WsUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { GatewayError, getErrorMessage } from '../../errors/errors.ts'
import { SUBPROTOCOL, WebSocketChannel } from '../../net/channel.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { getByteLength } from '../../util/messages.ts'
import { formatPeerText } from '../../util/log.ts'
import { parseSize } from '../../util/units.ts'
import type { MessageOutput, TransportEvents } from '../transport.ts'
import { SharedTransport } from '../transport.ts'
import { describeUnreachable, extractServerMessage, MAX_REFUSAL_BYTES, MAX_SHOWN_BYTES } from '../http/http-failures.ts'
import { createStandingHeaders, createTargetUrl } from '../http/request.ts'
import { readTlsFiles } from '../tls-files.ts'

const CONNECT_MS = 5000
/** Handshake retries with new credentials. */
const MAX_RETRIES = 3
/** Close code 1000 (RFC 6455): normal closure. */
const NORMAL = 1000

/** A WebSocket to a server: one message per text frame, in both directions. */
export class WsTransport extends SharedTransport implements MessageOutput {
  protected readonly output = this
  readonly pid = undefined
  readonly #spec: WsUpstreamConfig
  readonly #context: UpstreamContext
  readonly #events: TransportEvents
  /** Absent while credentials for the handshake are fetched. */
  #channel: WebSocketChannel | undefined
  /** Messages queued for the connection; undefined once it is open. */
  #queue: EncodedMessage[] | undefined = []
  #queuedLength = 0
  #isClosing = false

  constructor(spec: WsUpstreamConfig, context: UpstreamContext, events: TransportEvents) {
    super(context, events)
    this.#spec = spec
    this.#context = context
    this.#events = events
    if (context.authorizer === undefined) this.#openChannel({}, 1)
    else void this.#start(context.authorizer)
  }

  async #start(authorizer: Authorizer): Promise<void> {
    try {
      this.#openChannel(await authorizer.headers(createHandshakeRequest(this.#context)), 1)
    } catch (error) {
      this.#handleRefusal(error)
    }
  }

  #openChannel(credentials: CredentialHeaders, attempt: number): void {
    if (this.#isClosing) return this.#events.closed({ why: 'closed' })
    const socket = connectWebSocket(this.#spec, this.#context, credentials)
    const channel = new WebSocketChannel(socket, { clock: this.#context.clock })
    this.#channel = channel
    socket.on('upgrade', (response: IncomingMessage) => channel.connected(response.socket))
    socket.on('open', () => this.#handleOpen())
    let failure: Reason | undefined
    let isAgain = false
    socket.on('unexpected-response', (_request, response) =>
      readRefusal(response, (status, challenge, reason) => {
        failure = reason
        const { authorizer } = this.#context
        isAgain = authorizer !== undefined && attempt <= MAX_RETRIES && (status === 401 || status === 403)
        if (isAgain)
          void this.#retryWithCredentials(
            { status: status as 401 | 403, challenge, sent: credentials, attempt },
            reason,
          )
        socket.terminate()
      }),
    )
    socket.on('error', error => (failure ??= { why: describeFailure(error, this.#spec) }))
    channel.open({
      message: this.receive,
      closed: reason => {
        if (!isAgain) this.#events.closed(failure ?? { why: reason ?? 'the server closed the WebSocket' })
      },
      ...NOTHING_ELSE,
    })
  }

  /** The server rejected the handshake credentials: gets new ones and retries. */
  async #retryWithCredentials(refused: UpstreamRefusal, reason: Reason): Promise<void> {
    try {
      const newHeaders = await this.#context.authorizer?.refused(createHandshakeRequest(this.#context), refused)
      if (newHeaders === undefined) this.#events.closed(reason)
      else this.#openChannel(newHeaders, refused.attempt + 1)
    } catch (error) {
      this.#handleRefusal(error)
    }
  }

  #handleRefusal(error: unknown): void {
    this.#events.closed({
      why: getErrorMessage(error),
      error: error instanceof GatewayError ? error : undefined,
    })
  }

  close(): Promise<void> {
    this.#isClosing = true
    return this.#channel?.close(NORMAL) ?? Promise.resolve()
  }

  get unread(): number {
    return this.#queue === undefined ? (this.#channel?.unsent ?? 0) : this.#queuedLength
  }

  write(text: EncodedMessage): void {
    if (this.#queue === undefined) return this.#channel?.write(text)
    this.#queuedLength += getByteLength(text)
    this.#queue.push(text)
  }

  #handleOpen(): void {
    const waiting = this.#queue ?? []
    this.#queue = undefined
    for (const text of waiting) this.#channel?.write(text)
  }
}

const NOTHING_ELSE = {
  flow: (): void => undefined,
  tooLong: (): void => undefined,
  inputEnded: (): void => undefined,
}

function connectWebSocket(spec: WsUpstreamConfig, context: UpstreamContext, credentials: CredentialHeaders): WebSocket {
  const { gateway } = context
  return new WebSocket(createTargetUrl(spec, context), SUBPROTOCOL, {
    headers: { ...createStandingHeaders(spec.headers, `${gateway.name}/${gateway.version}`), ...credentials },
    handshakeTimeout: CONNECT_MS,
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: parseSize(spec.maxReply),
    ...(spec.tls === undefined ? {} : readTlsFiles(spec.tls, context)),
  })
}

function createHandshakeRequest({ name, account, caller }: UpstreamContext): OutgoingRequest {
  return { upstream: name, method: 'GET', account, exchange: undefined, principal: caller?.() }
}

/** Reads a server's answer that rejects the WebSocket; stops at the handshake timeout. */
function readRefusal(
  response: IncomingMessage,
  done: (status: number, challenge: string | undefined, reason: Reason) => void,
): void {
  let body = Buffer.alloc(0)
  response.on('data', (chunk: Buffer) => {
    body = Buffer.concat([body, chunk])
    if (body.length > MAX_REFUSAL_BYTES) response.destroy()
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    const { statusCode = 0, headers } = response
    const challenge = headers['www-authenticate']
    done(statusCode, challenge, {
      why: `WebSocket rejected (HTTP ${statusCode})`,
      detail: extractServerMessage(body.toString('utf8', 0, MAX_SHOWN_BYTES), challenge),
    })
  })
}

function describeFailure(error: Error, { maxReply }: WsUpstreamConfig): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return `message larger than ${maxReply}`
  return syscall === undefined && code?.startsWith('E') !== true
    ? `the WebSocket failed (${formatPeerText(error.message, 200)})`
    : describeUnreachable(error)
}
