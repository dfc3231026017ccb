import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Clock, Principal } from '../api/index.ts'
import type { EncodedMessage } from '../util/messages.ts'
import { joinPieces } from '../util/messages.ts'
import { settlesWithin } from '../util/clock.ts'
import { formatPeerText } from '../util/log.ts'
import type { MemoryShare } from './backlog.ts'
import { MAX_UNREAD_BYTES, UNCOUNTED_BYTES } from './backlog.ts'

/** The subprotocol that both sides must name. */
export const SUBPROTOCOL = 'mcp'
/** RFC 6455 close codes. */
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const PING_MS = 30_000
/** Maximum wait for the peer's close frame. */
const CLOSE_TIMEOUT_MS = 1000
/** Unread bytes above which reading from the peer pauses. */
const MAX_UNSENT = 1024 * 1024
const AS_TEXT = { binary: false }

/** Context of a message that is its own HTTP request, or whose connection began as one. */
export interface MessageContext {
  readonly headers: Readonly<Record<string, string>>
  /** The caller of this message, if it was authenticated again. */
  readonly caller?: Principal
}

export interface ChannelEvents {
  message(bytes: Buffer, arrived?: MessageContext): void
  /** A message exceeded `limit` and was discarded. */
  tooLong(limit: number): void
  /** The input has ended; answers can still be sent. */
  inputEnded(): void
  /** Called when the peer is gone, with the reason if known. */
  closed(reason?: string): void
  /** Called when the reader of outgoing messages falls behind or catches up. */
  flow(): void
}

/** Carries one client's session as whole messages in both directions. */
export interface Channel {
  /** True while the reader of outgoing messages is behind. */
  readonly isBlocked: boolean
  open(events: ChannelEvents): void
  pause(): void
  resume(): void
  /** Writes an optional message; false if it was dropped. */
  writeOptional(message: string): boolean
  write(message: EncodedMessage): void
  /** Resolves when all written data was sent, or the connection is gone. */
  waitForDrain(): Promise<void>
}

interface WebSocketChannelOptions {
  readonly clock: Clock
  /** Opening request headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Counts the client's unread data. */
  readonly hold?: MemoryShare | undefined
}

/** A WebSocket, one message per text frame; used by both sides. */
export class WebSocketChannel implements Channel {
  isBlocked = false
  readonly #socket: WebSocket
  readonly #options: WebSocketChannelOptions
  readonly #closed: Promise<void>
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
    this.#closed = new Promise(resolve => socket.once('close', () => resolve()))
    this.#written = () => this.#handleDrain()
    // Every error is followed by `close`.
    socket.on('error', error => (this.#lastError ??= error.message))
  }

  get unsent(): number {
    return this.#socket.bufferedAmount
  }

  open(events: ChannelEvents): void {
    const socket = this.#socket
    this.#callbacks = events
    const { headers } = this.#options
    const arrived = headers && { headers }
    socket.on('message', (data: RawData, isBinary: boolean) => {
      this.#hasLife = true
      if (isBinary) this.#refuseBinary()
      // Text arrives as one Buffer, as `binaryType` keeps its default.
      else if (this.#lastError === undefined) events.message(data as Buffer, arrived)
    })
    for (const event of ['ping', 'pong'] as const) socket.on(event, () => (this.#hasLife = true))
    socket.once('close', (code: number, reason: Buffer) => {
      this.#options.hold?.release()
      this.#stopPing?.()
      this.#onEmpty?.()
      events.closed(this.#getCloseReason(code, reason))
    })
  }

  /** Called on connection: enables batching within one tick, and liveness checks. */
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
    const isBehind = this.#options.hold?.isHalfFull === true && this.unsent > UNCOUNTED_BYTES
    if (this.isBlocked || isBehind || this.#socket.readyState !== this.#socket.OPEN) return false
    this.write(message)
    return true
  }

  write(message: EncodedMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#corkUntilTick()
    this.#socket.send(joinPieces(message), AS_TEXT, this.#written)
    this.#updateFlow()
  }

  async waitForDrain(): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN || this.unsent === 0) return
    await new Promise<void>(resolve => (this.#onEmpty = resolve))
  }

  /** Closes the socket, waiting briefly for the peer's close frame. */
  async close(code = GOING_AWAY, reason?: string): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return
    // Resume only if paused: after a refused handshake there is no stream, and ws fails to resume it.
    if (this.#socket.isPaused) this.#socket.resume()
    this.#socket.close(code, reason)
    if (!(await settlesWithin(this.#options.clock, CLOSE_TIMEOUT_MS, this.#closed))) this.#socket.terminate()
    await this.#closed
  }

  #refuseBinary(): void {
    this.#lastError ??= 'it sent a binary frame'
    this.#socket.close(UNSUPPORTED_DATA, 'one JSON-RPC message per text frame')
  }

  #terminate(reason: string): void {
    this.#lastError ??= reason
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
    this.#updateFlow()
    if (this.unsent === 0) this.#onEmpty?.()
  }

  /** Decides when to pause reading from a peer that does not read, and when to disconnect it. */
  #updateFlow(): void {
    const { unsent } = this
    this.#options.hold?.setUnsent(unsent)
    if (unsent > MAX_UNREAD_BYTES) return this.#terminate('it reads messages too slowly')
    const isBlocked = unsent > (this.isBlocked ? MAX_UNSENT / 2 : MAX_UNSENT)
    if (isBlocked === this.isBlocked) return
    this.isBlocked = isBlocked
    this.#callbacks?.flow()
  }

  #startPings(): void {
    this.#stopPing = this.#options.clock.after(PING_MS, () => {
      // While reading is paused, pongs cannot arrive: rely on unread data alone.
      const isSilent = !this.#hasLife && (!this.#socket.isPaused || this.unsent > 0)
      if (isSilent) return this.#terminate('ping timed out')
      this.#hasLife = false
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
      this.#startPings()
    })
  }

  #getCloseReason(code: number, reason: Buffer): string {
    if (this.#lastError !== undefined) return formatPeerText(this.#lastError, 200)
    const closeReason = reason.length === 0 ? '' : `: ${formatPeerText(reason.toString(), 200)}`
    return `it closed the WebSocket (code ${code}${closeReason})`
  }
}
