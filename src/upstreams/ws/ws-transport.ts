import type { ClientRequestArgs, IncomingMessage } from 'node:http'
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { connect, getCACertificates } from 'node:tls'
import type { ClientOptions } from 'ws'
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
import { ClientError } from '../../net/http-client-types.ts'
import { findProxy } from '../../net/proxy.ts'
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
  const tls = spec.tls === undefined ? {} : readTlsFiles(spec.tls, context)
  return new WebSocket(createTargetUrl(spec, context), SUBPROTOCOL, {
    headers: { ...createStandingHeaders(spec.headers, `${gateway.name}/${gateway.version}`), ...credentials },
    handshakeTimeout: CONNECT_MS,
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: parseSize(spec.maxReply),
    ...tls,
    ...createProxyOption(spec, context, tls.ca),
  })
}

/** Returns the WebSocket option for the configured or the environment's proxy. */
function createProxyOption(
  { url, proxy }: WsUpstreamConfig,
  { environment, log }: UpstreamContext,
  ca: string | undefined,
): Pick<ClientOptions, 'createConnection'> {
  const target = new URL(url.replace(/^ws/i, 'http'))
  const through = proxy ?? findProxy(target, environment)
  if (typeof through !== 'string') return {}
  log.debug('connecting through a proxy', { proxy: new URL(through).host })
  const tunnel = { proxy: through, ca, connectMs: CONNECT_MS }
  const made: unknown = connectThroughProxy(tunnel, target.protocol === 'https:')
  return { createConnection: made as ClientOptions['createConnection'] }
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
  return syscall === undefined && code !== 'PROXY' && code?.startsWith('E') !== true
    ? `the WebSocket failed (${formatPeerText(error.message, 200)})`
    : describeUnreachable(error)
}

/** A connection's proxy, and its trusted authorities in addition to the system's. */
interface ProxyTunnel {
  readonly proxy: string
  readonly ca?: string | undefined
  readonly connectMs: number
}

type TunnelCallback = (error: Error | null, socket?: Socket) => void

/** Opens connections for Node HTTP requests through a proxy: a CONNECT tunnel, with TLS inside for https and wss. */
function connectThroughProxy(
  tunnel: ProxyTunnel,
  isSecure: boolean,
): (options: ClientRequestArgs, done: TunnelCallback) => undefined {
  return (options, done) => {
    const host = String(options.host)
    const isAddress = isIP(host) !== 0
    const request = createConnectRequest(tunnel, `${isIP(host) === 6 ? `[${host}]` : host}:${options.port ?? ''}`)
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      request.setTimeout(0)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        return done(new ClientError('PROXY', `proxy error: HTTP ${statusCode}`))
      }
      const secure: ConnectionOptions = { ...(options as ConnectionOptions), socket }
      done(null, isSecure ? connect({ ...secure, ...(isAddress ? {} : { servername: host }) }) : socket)
    })
    request.once('response', ({ statusCode = 0 }) => {
      request.destroy(new ClientError('PROXY', `proxy error: HTTP ${statusCode}`))
    })
    request.once('timeout', () => request.destroy(new ClientError('PROXY', 'proxy timed out')))
    request.once('error', error => done(error))
    request.end()
    return undefined
  }
}

function createConnectRequest({ proxy, ca, connectMs }: ProxyTunnel, target: string): ReturnType<typeof requestPlain> {
  const { protocol, hostname, port, username, password } = new URL(proxy)
  const isSecure = protocol === 'https:'
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization =
    username === '' && password === ''
      ? {}
      : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
  const options = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...authorization },
    agent: false,
    timeout: connectMs,
  } as const
  const trust = ca === undefined ? {} : { ca: [ca, ...getCACertificates('default')] }
  return isSecure ? requestSecure({ ...options, ...trust }) : requestPlain(options)
}
