import type { UpstreamContext } from '../../api/index.ts'
import type { WsUpstreamConfig } from '../../config/config.gen.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import { visible } from '../../transport/printable.ts'
import { SUBPROTOCOL, WebSocketChannel } from '../../transport/web-socket-channel.ts'
import { parseSize } from '../../util/units.ts'
import { MAX_UNREAD, RequestQueue } from '../connection/request-queue.ts'
import { MAX_REFUSAL, SHOWN_BODY, said, unreachable } from '../http/http-failures.ts'
import { standingHeaders } from '../http/request-headers.ts'
import type { Pending, Wire, WireEvents } from '../transport.ts'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'

const CONNECT_MS = 5000
/** Close code of RFC 6455: nothing is wrong. */
const NORMAL = 1000
/** Messages that may wait for the connection, in characters; more are lost, and requests wait in their queue. */
const MAX_WAITING = 2 * 1024 * 1024

/** A WebSocket to a server: one message per text frame, in both directions. */
export class WsWire implements Wire {
  readonly streams = false
  readonly pid = undefined
  readonly lastWords = ''
  readonly #queue: RequestQueue
  readonly #socket: WebSocket
  readonly #channel: WebSocketChannel
  /** What waits for the connection; undefined once it is there. */
  #waiting: string[] | undefined = []
  #waitingLength = 0

  constructor(spec: WsUpstreamConfig, { name, clock, gateway }: UpstreamContext, events: WireEvents) {
    const unread = (): number => (this.#waiting === undefined ? this.#channel.unsent : this.#waitingLength)
    this.#queue = new RequestQueue(name, {
      hasRoom: () => unread() <= MAX_UNREAD,
      write: text => this.#send(text),
    })
    this.#socket = new WebSocket(spec.url, SUBPROTOCOL, {
      headers: standingHeaders(spec.headers, `${gateway.name}/${gateway.version}`),
      handshakeTimeout: CONNECT_MS,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: parseSize(spec.maxReply),
    })
    this.#channel = new WebSocketChannel(this.#socket, { clock })
    this.#socket.on('upgrade', (response: IncomingMessage) => this.#channel.connected(response.socket))
    this.#socket.on('open', () => this.#opened())
    let failure: string | undefined
    this.#socket.on('unexpected-response', (_request, response) =>
      refusal(response, why => {
        failure = why
        this.#socket.terminate()
      }),
    )
    this.#socket.on('error', error => (failure ??= whyFailed(error, spec)))
    this.#channel.open({
      message: bytes => events.received(bytes, undefined),
      gone: why => events.closed(failure ?? why ?? 'it closed the WebSocket'),
      flow: () => this.#queue.drained(),
      ...NOTHING_ELSE,
    })
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    this.#queue.send(
      pending,
      encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received),
    )
  }

  send(text: string): Promise<void> {
    this.#send(text)
    return Promise.resolve()
  }

  abandon(pending: Pending): boolean {
    return this.#queue.takeBack(pending)
  }

  opened(): void {
    // Nothing on a WebSocket depends on the era.
  }

  listen(): void {
    // A WebSocket always listens.
  }

  retire(): Promise<void> {
    return this.close()
  }

  close(): Promise<void> {
    return this.#channel.close(NORMAL)
  }

  #send(text: string): void {
    if (this.#waiting === undefined) return this.#channel.write(text)
    if (this.#waitingLength > MAX_WAITING) return
    this.#waitingLength += text.length
    this.#waiting.push(text)
  }

  #opened(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const text of waiting) this.#channel.write(text)
    this.#queue.drained()
  }
}

const NOTHING_ELSE = {
  tooLong: (): void => undefined,
  ended: (): void => undefined,
}

/** What a server says instead of opening the WebSocket; as much of it as comes before the handshake has had its time. */
function refusal(response: IncomingMessage, done: (why: string) => void): void {
  let body = Buffer.alloc(0)
  response.on('data', (chunk: Buffer) => {
    body = Buffer.concat([body, chunk])
    if (body.length > MAX_REFUSAL) response.destroy()
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    const words = said(body.toString('utf8', 0, SHOWN_BODY), response.headers['www-authenticate'])
    done(`it refuses WebSocket connections (HTTP ${response.statusCode ?? 0})${words}`)
  })
}

function whyFailed(error: Error, { maxReply }: WsUpstreamConfig): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return `it sent a message larger than ${maxReply}`
  return syscall === undefined && code?.startsWith('E') !== true
    ? `the WebSocket failed (${visible(error.message, 200)})`
    : unreachable(error)
}
