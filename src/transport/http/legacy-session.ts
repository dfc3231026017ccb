import type { Notification, Principal, RpcId, Session } from '../../core/ports.ts'
import { encodeNotification } from '../../protocol/jsonrpc.ts'
import type { SseStream } from '../sse-write.ts'
import type { Post } from './post.ts'

/** One legacy client's conversation over HTTP. */
export class LegacySession {
  readonly id: string
  readonly principal: Principal
  /** Set once the core has opened it; it is in no table before. */
  session: Session | undefined
  /** Requests under way, by the client's own id: `1` is not `"1"`. */
  readonly running = new Map<RpcId, Post>()
  #stream: SseStream | undefined
  #seenAt: number

  constructor(id: string, principal: Principal, now: number) {
    this.id = id
    this.principal = principal
    this.#seenAt = now
  }

  /** The client's standalone stream; the newest replaces the one before. */
  set stream(stream: SseStream) {
    this.#stream?.end()
    this.#stream = stream
  }

  get hasStream(): boolean {
    return this.#stream?.isOpen === true
  }

  touch(now: number): void {
    this.#seenAt = now
  }

  /** Since when nothing happens here; undefined while something does. */
  get idleSince(): number | undefined {
    return this.running.size > 0 || this.hasStream ? undefined : this.#seenAt
  }

  notify(notification: Notification): boolean {
    return this.#stream?.send(encodeNotification(notification.method, notification.params)) ?? false
  }

  endStream(): void {
    this.#stream?.end()
    this.#stream = undefined
  }

  end(reason: string): void {
    this.endStream()
    for (const post of this.running.values()) post.cancel(reason)
  }
}
