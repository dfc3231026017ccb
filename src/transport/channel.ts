import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Clock, Principal } from '../api/index.ts'
import type { EncodedMessage } from '../util/encoded-message.ts'
import { joinPieces } from '../util/encoded-message.ts'
import { waitAtMost } from '../util/clock.ts'
import { formatPeerText } from '../util/log.ts'
import type { MemoryShare } from './backlog.ts'
import { Backlog } from './backlog.ts'

/** The subprotocol that both sides must name. */
export const SUBPROTOCOL = 'mcp'
/** Close codes of RFC 6455. */
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const PING_MS = 30_000
/** The time that the other side may take to say good-bye. */
const CLOSE_TIMEOUT_MS = 1000
const AS_TEXT = { binary: false }

/** The circumstances of one message, where it is an HTTP request of its own or the connection began as one. */
export interface MessageContext {
  readonly headers: Readonly<Record<string, string>>
  /** The caller that sent this one, where that was asked anew. */
  readonly caller?: Principal
}

export interface ChannelEvents {
  /** One message or batch. */
  message(bytes: Buffer, arrived?: MessageContext): void
  /** A message was longer than `limit` and is lost. */
  tooLong(limit: number): void
  /** Nothing more comes; answers are still read. */
  ended(): void
  /** Called when the peer is gone, with the reason if known. */
  gone(why?: string): void
  /** The reader of our messages has fallen behind, or has caught up. */
  flow(): void
}

/** Carries one client's conversation: whole messages in, whole messages out. */
export interface Channel {
  /** True while the reader of our messages is behind. */
  readonly isBlocked: boolean
  open(ears: ChannelEvents): void
  pause(): void
  resume(): void
  /** Writes a message that may be missed; false when it will be. */
  writeOptional(message: string): boolean
  write(message: EncodedMessage): void
  /** Resolves when all that was written has left, or never will. */
  waitForDrain(): Promise<void>
}

interface WebSocketChannelOptions {
  readonly clock: Clock
  /** Headers of the request that opened it. */
  readonly headers?: Readonly<Record<string, string>>
  /** Counts what waits for its client. */
  readonly hold?: MemoryShare | undefined
}

/** A WebSocket, one message per text frame; either side of it. */
export class WebSocketChannel implements Channel {
  readonly #socket: WebSocket
  readonly #options: WebSocketChannelOptions
  readonly #backlog: Backlog
  readonly #gone: Promise<void>
  readonly #written: () => void
  #callbacks: ChannelEvents | undefined
  #socketStream: Duplex | undefined
  #isCorked = false
  #hasLife = true
  #lastError: string | undefined
  #onEmpty: (() => void) | undefined
  #stopPing: (() => void) | undefined

  constructor(socket: WebSocket, options: WebSocketChannelOptions) {
    this.#socket = socket
    this.#options = options
    this.#backlog = new Backlog({
      hold: options.hold,
      unsent: () => socket.bufferedAmount,
      onFlow: () => this.#callbacks?.flow(),
      onStuck: () => this.#terminate('it does not read what it is sent'),
    })
    this.#gone = new Promise(resolve => socket.once('close', () => resolve()))
    this.#written = () => this.#handleDrain()
    // Whatever goes wrong ends in `close`.
    socket.on('error', error => (this.#lastError ??= error.message))
  }

  get isBlocked(): boolean {
    return this.#backlog.isBlocked
  }

  /** Bytes that wait for the reader. */
  get unsent(): number {
    return this.#socket.bufferedAmount
  }

  open(ears: ChannelEvents): void {
    const socket = this.#socket
    this.#callbacks = ears
    const { headers } = this.#options
    const arrived = headers && { headers }
    socket.on('message', (data: RawData, isBinary: boolean) => {
      this.#hasLife = true
      if (isBinary) this.#refuseBinary()
      // Text comes as one Buffer, as `binaryType` is left alone.
      else if (this.#lastError === undefined) ears.message(data as Buffer, arrived)
    })
    for (const event of ['ping', 'pong'] as const) socket.on(event, () => (this.#hasLife = true))
    socket.once('close', (code: number, reason: Buffer) => {
      this.#backlog.end()
      this.#stopPing?.()
      this.#onEmpty?.()
      ears.gone(this.#getCloseReason(code, reason))
    })
  }

  /** The connection is there: messages of one tick leave together on it, and it is asked for signs of life. */
  connected(tcp: Duplex): void {
    this.#socketStream = tcp
    this.#startPings()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#hasLife = true
    this.#socket.resume()
  }

  writeOptional(message: string): boolean {
    if (!this.#backlog.canSkip || this.#socket.readyState !== this.#socket.OPEN) return false
    this.write(message)
    return true
  }

  write(message: EncodedMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#corkUntilTick()
    this.#socket.send(joinPieces(message), AS_TEXT, this.#written)
    this.#backlog.handleWrite()
  }

  async waitForDrain(): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN || this.unsent === 0) return
    await new Promise<void>(resolve => (this.#onEmpty = resolve))
  }

  /** Closes the socket, waiting briefly for the peer's close frame. */
  async close(code = GOING_AWAY, why?: string): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return
    // One whose handshake was refused has nothing to read from, and ws asks it all the same.
    if (this.#socket.isPaused) this.#socket.resume()
    this.#socket.close(code, why)
    if (!(await waitAtMost(this.#options.clock, CLOSE_TIMEOUT_MS, this.#gone))) this.#socket.terminate()
    await this.#gone
  }

  #refuseBinary(): void {
    this.#lastError ??= 'it sent a binary frame'
    this.#socket.close(UNSUPPORTED_DATA, 'one JSON-RPC message per text frame')
  }

  #terminate(why: string): void {
    this.#lastError ??= why
    this.#socket.terminate()
  }

  #corkUntilTick(): void {
    if (this.#isCorked || this.#socketStream === undefined) return
    this.#isCorked = true
    this.#socketStream.cork()
    setImmediate(() => {
      this.#isCorked = false
      this.#socketStream?.uncork()
    })
  }

  #handleDrain(): void {
    // A peer that drains data is alive, even if its pong is queued.
    this.#hasLife = true
    this.#backlog.handleDrain()
    if (this.unsent === 0) this.#onEmpty?.()
  }

  #startPings(): void {
    this.#stopPing = this.#options.clock.after(PING_MS, () => {
      // A peer that we do not read from cannot answer: then only what it leaves unread tells.
      const isSilent = !this.#hasLife && (!this.#socket.isPaused || this.unsent > 0)
      if (isSilent) return this.#terminate('it neither answers our pings nor reads what it is sent')
      this.#hasLife = false
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
      this.#startPings()
    })
  }

  #getCloseReason(code: number, reason: Buffer): string {
    if (this.#lastError !== undefined) return formatPeerText(this.#lastError, 200)
    const said = reason.length === 0 ? '' : `: ${formatPeerText(reason.toString(), 200)}`
    return `it closed the WebSocket (code ${code}${said})`
  }
}
