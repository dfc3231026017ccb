import type { Ask, AskReply, Clock, Notification, Principal, Session } from '../../../api/index.ts'
import { encodeTold } from '../../client/encode-answer.ts'
import { Asking, type ClientAsks } from '../../client/server-requests.ts'
import { InFlight } from '../../../transport/id-map.ts'
import { seenBy } from '../../client/session-view.ts'
import type { EventStream, SseStream } from '../sse-writer.ts'
import type { EventStore } from './event-store.ts'
import type { Post } from './posted-request.ts'
import type { StreamRecorder } from '../response.ts'

/** The first version whose clients can read an event without a message. */
const PRIMED_SINCE = '2025-11-25'

/** Labels of one session; more than these are forgotten and made again. */
const MAX_LABELS = 64

/** A request that runs this long is slow. */
const SLOW_MS = 500

/** What a session is made of. */
export interface LegacySessionParts {
  readonly id: string
  readonly principal: Principal
  readonly now: number
  readonly asks: ClientAsks
  readonly events: EventStore
}

/** One legacy client's conversation over HTTP. */
export class LegacySession implements StreamRecorder {
  readonly id: string
  readonly principal: Principal
  /** Set once the core has opened it; it is in no table before. */
  session: Session | undefined
  /** Requests under way, by the client's own id: `1` is not `"1"`. */
  readonly running = new InFlight<Post>()
  /** What the client was asked. */
  readonly asks: ClientAsks
  /** What it can come back for. */
  readonly events: EventStore
  /** It has tried to come back to a stream, so it knows how. */
  hasReturned = false
  #stream: EventStream | undefined
  #asking: Asking | undefined
  #seenAt: number
  #isWatched = false
  #views: Map<string, Session> | undefined

  constructor({ id, principal, now, asks, events }: LegacySessionParts) {
    this.id = id
    this.principal = principal
    this.asks = asks
    this.events = events
    this.#seenAt = now
  }

  /**
   * The session as a request with this label sees it: a gateway in front of this one may have one session with it for
   * many clients.
   */
  seenBy(caller: Principal, label: string | undefined): Session | undefined {
    const view = this.#labelled(label)
    return view && seenBy(view, caller)
  }

  #labelled(label: string | undefined): Session | undefined {
    const { session } = this
    if (label === undefined || session === undefined || session.label === label) return session
    const known = this.#views?.get(label)
    if (known !== undefined) return known
    if (this.#views === undefined || this.#views.size >= MAX_LABELS) this.#views = new Map()
    const view = Object.create(session, { label: { value: label, enumerable: true } }) as Session
    this.#views.set(label, view)
    return view
  }

  /** The client's standalone stream; the newest replaces the one before. */
  listen(stream: SseStream): void {
    this.#stream?.end()
    this.#stream = this.keep(stream)
  }

  /** Makes a stream one that the client can come back to, where it may know how. */
  keep(stream: SseStream): EventStream {
    const { isPrimed } = this
    if (!isPrimed && !this.hasReturned) return stream
    const kept = this.events.begin(stream)
    if (isPrimed) kept.prime()
    return kept
  }

  get isPrimed(): boolean {
    return this.session !== undefined && this.session.client.version >= PRIMED_SINCE
  }

  /**
   * Gives requests that take long an id to come back with, before they have said anything: without one, the answer to a
   * client that loses its connection is lost. One look at a time for the whole session costs quick requests nothing.
   */
  watch(clock: Clock): void {
    if (this.#isWatched || !this.isPrimed) return
    this.#isWatched = true
    const running = new Set(this.running.values())
    clock.after(SLOW_MS, () => {
      this.#isWatched = false
      for (const post of this.running.values()) if (running.has(post)) post.prime()
      if (this.running.size > 0) this.watch(clock)
    })
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
    const told = this.session && encodeTold(notification, this.session.client)
    return told !== undefined && this.#stream?.tell(told) === true
  }

  /** Ends what goes from us to the client: the gateway stops, and no reply would be taken any more. */
  stop(): void {
    this.endStream()
    this.asks.close('the gateway is stopping')
  }

  /** Asks the client outside any request, on its standalone stream. */
  ask(ask: Ask): Promise<AskReply> {
    this.#asking ??= new Asking(this.asks, message => this.#stream?.send(message) === true)
    return this.#asking.ask(ask)
  }

  endStream(): void {
    this.#stream?.end()
    this.#stream = undefined
  }

  end(reason: string): void {
    this.endStream()
    for (const post of this.running.values()) post.cancel(reason)
    this.asks.close(reason)
    this.events.close()
  }
}
