import type { Clock, Principal } from '../../../api/index.ts'
import { type Written, inOnePiece } from '../../../protocol/jsonrpc.ts'
import { Backlog } from '../../../transport/backlog.ts'
import type { Arrived, Ears } from '../../../transport/channel.ts'
import { SSE_HEADERS, frame } from '../sse-writer.ts'
import { type ReaderBounds, unreadOf } from '../body/unread-bytes.ts'
import type { NetworkChannel } from './open-connections.ts'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'

const KEEP_ALIVE_MS = 15_000

/** What a channel needs of its listener. */
interface ChannelContext extends ReaderBounds {
  readonly clock: Clock
  readonly sessions: { readonly idPrefix: string }
}

/** One client of HTTP+SSE (2024-11-05): it posts its messages, and hears ours on one event stream. */
export class SseChannel implements NetworkChannel {
  /** Who knows it may post. */
  readonly id: string
  readonly principal: Principal
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #backlog: Backlog
  readonly #written: () => void
  #ears: Ears | undefined
  #reading: Promise<void> | undefined
  #readOn: () => void = () => undefined
  #onEmpty: (() => void) | undefined
  #takeBackKeepAlive: (() => void) | undefined

  constructor(context: ChannelContext, response: ServerResponse, principal: Principal) {
    const { clock } = context
    this.id = `${context.sessions.idPrefix}${randomBytes(24).toString('base64url')}`
    this.principal = principal
    this.#response = response
    this.#clock = clock
    this.#backlog = new Backlog({
      clock,
      ...unreadOf(context, principal, response.req),
      unsent: () => response.writableLength,
      onFlow: () => this.#ears?.flow(),
      onStuck: () => response.destroy(),
    })
    this.#written = () => this.#shrank()
  }

  get isBlocked(): boolean {
    return this.#backlog.isBlocked
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  open(ears: Ears): void {
    this.#ears = ears
    this.#response.on('close', () => {
      this.#backlog.end()
      this.#takeBackKeepAlive?.()
      this.resume()
      this.#onEmpty?.()
      ears.gone('the client closed its event stream')
    })
  }

  /** Begins the stream: the client learns where to post. */
  greet(messages: string): void {
    this.#response.writeHead(200, SSE_HEADERS)
    this.#response.write(`event: endpoint\ndata: ${messages}?sessionId=${this.id}\n\n`)
    this.#armKeepAlive()
  }

  /** Takes what was posted, once it may; false when nobody is there to answer it any more. */
  async take(body: Buffer, arrived: Arrived): Promise<boolean> {
    while (this.#reading !== undefined && this.isOpen) await this.#reading
    if (!this.isOpen) return false
    this.#ears?.message(body, arrived)
    return true
  }

  pause(): void {
    this.#reading ??= new Promise(resolve => (this.#readOn = resolve))
  }

  resume(): void {
    this.#reading = undefined
    this.#readOn()
  }

  tell(message: string): boolean {
    if (!this.#backlog.mayTell || !this.isOpen) return false
    this.write(message)
    return true
  }

  write(message: Written): void {
    if (!this.isOpen) return
    const framed = frame(inOnePiece(message))
    if (!this.#backlog.hasRoom(framed.length)) return
    this.#response.write(framed, this.#written)
    this.#backlog.grew()
  }

  async finished(): Promise<void> {
    if (!this.isOpen || this.#response.writableLength === 0) return
    await new Promise<void>(resolve => (this.#onEmpty = resolve))
  }

  close(): Promise<void> {
    if (this.#response.destroyed) return Promise.resolve()
    return new Promise(resolve => {
      this.#response.once('close', resolve)
      this.#response.end()
      this.#response.socket?.destroySoon()
    })
  }

  #shrank(): void {
    this.#backlog.shrank()
    if (this.#response.writableLength === 0) this.#onEmpty?.()
  }

  #armKeepAlive(): void {
    this.#takeBackKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      if (this.isOpen && !this.isBlocked) this.#response.write(':\n\n')
      this.#armKeepAlive()
    })
  }
}
