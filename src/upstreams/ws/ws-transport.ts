import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { UpstreamContext } from '../../api/index.ts'
import type { WsUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { SUBPROTOCOL, WebSocketChannel } from '../../transport/channel.ts'
import { visible } from '../../util/log.ts'
import { parseSize } from '../../util/units.ts'
import { QueuedTransport } from '../connection/queued-transport.ts'
import { MAX_UNREAD } from '../connection/request-queue.ts'
import { MAX_REFUSAL, SHOWN_BODY, said, unreachable } from '../http/http-failures.ts'
import { standingHeaders } from '../http/request-headers.ts'
import { targetOf } from '../http/request-url.ts'
import { readTls } from '../tls-files.ts'
import type { TransportEvents } from '../transport.ts'

const CONNECT_MS = 5000
/** Close code of RFC 6455: nothing is wrong. */
const NORMAL = 1000

/** A WebSocket to a server: one message per text frame, in both directions. */
export class WsTransport extends QueuedTransport {
  readonly pid = undefined
  readonly #socket: WebSocket
  readonly #channel: WebSocketChannel
  /** Messages that wait for the connection; undefined once it is there. */
  #waiting: string[] | undefined = []
  #waitingLength = 0

  constructor(spec: WsUpstreamConfig, context: UpstreamContext, events: TransportEvents) {
    const { clock, gateway } = context
    const unread = (): number => (this.#waiting === undefined ? this.#channel.unsent : this.#waitingLength)
    super(context, {
      hasRoom: () => unread() <= MAX_UNREAD,
      write: text => this.#send(text),
    })
    this.#socket = new WebSocket(targetOf(spec), SUBPROTOCOL, {
      headers: standingHeaders(spec.headers, `${gateway.name}/${gateway.version}`),
      handshakeTimeout: CONNECT_MS,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: parseSize(spec.maxReply),
      ...(spec.tls === undefined ? {} : readTls(spec.tls, context)),
    })
    this.#channel = new WebSocketChannel(this.#socket, { clock })
    this.#socket.on('upgrade', (response: IncomingMessage) => this.#channel.connected(response.socket))
    this.#socket.on('open', () => this.#opened())
    let failure: Reason | undefined
    this.#socket.on('unexpected-response', (_request, response) =>
      refusal(response, reason => {
        failure = reason
        this.#socket.terminate()
      }),
    )
    this.#socket.on('error', error => (failure ??= { why: whyFailed(error, spec) }))
    this.#channel.open({
      message: bytes => events.received(bytes, undefined),
      gone: why => events.closed(failure ?? { why: why ?? 'it closed the WebSocket' }),
      flow: () => this.queue.drained(),
      ...NOTHING_ELSE,
    })
  }

  close(): Promise<void> {
    return this.#channel.close(NORMAL)
  }

  #send(text: string): void {
    if (this.#waiting === undefined) return this.#channel.write(text)
    this.#waitingLength += text.length
    this.#waiting.push(text)
  }

  #opened(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const text of waiting) this.#channel.write(text)
    this.queue.drained()
  }
}

const NOTHING_ELSE = {
  tooLong: (): void => undefined,
  ended: (): void => undefined,
}

/** Reads what a server answers instead of opening the WebSocket; as much of it as comes before the handshake has had its time. */
function refusal(response: IncomingMessage, done: (reason: Reason) => void): void {
  let body = Buffer.alloc(0)
  response.on('data', (chunk: Buffer) => {
    body = Buffer.concat([body, chunk])
    if (body.length > MAX_REFUSAL) response.destroy()
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    done({
      why: `it refuses WebSocket connections (HTTP ${response.statusCode ?? 0})`,
      detail: said(body.toString('utf8', 0, SHOWN_BODY), response.headers['www-authenticate']),
    })
  })
}

function whyFailed(error: Error, { maxReply }: WsUpstreamConfig): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return `it sent a message larger than ${maxReply}`
  return syscall === undefined && code?.startsWith('E') !== true
    ? `the WebSocket failed (${visible(error.message, 200)})`
    : unreachable(error)
}
