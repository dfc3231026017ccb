import { randomBytes } from 'node:crypto'
import type {
  Ask,
  AskReply,
  ClientSide,
  Clock,
  Gate,
  Log,
  PeerDirectory,
  Notification,
  Principal,
  Session,
  SessionInit,
} from '../../../api/index.ts'
import { principalKey } from '../../../plugin.ts'
import { isNews } from '../../../protocol/methods.ts'
import { HeldBytes } from '../../../transport/backlog.ts'
import { Drops } from '../../../transport/unexpected-messages.ts'
import { IdleSweeper } from '../../../util/clock.ts'
import { encodeClientNotification } from '../../client/encode-answer.ts'
import type { InboundRequest } from '../../client/inbound-request.ts'
import { OpenRequests } from '../../client/inbound-request.ts'
import { Requester, ServerRequests } from '../../client/server-requests.ts'
import type { SessionQuota } from '../open-connections.ts'
import { SWEEP_MS } from '../open-connections.ts'
import type { StreamRecorder } from '../response.ts'
import type { EventStreamWriter, SseStream } from '../sse-writer.ts'
import { EventStore, MAX_STORED_BYTES } from './event-store.ts'

/** Dependencies of the sessions of one listener. */
interface LegacySessionsDeps {
  readonly name: string
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  /** The other processes that have sessions: ids say whose they are. */
  readonly neighbours?: PeerDirectory | undefined
  /** Most sessions at a time. */
  readonly max: number
  /** Counts those of one caller, those that are being opened included. */
  readonly quota: SessionQuota
  readonly idleMs: number
}

/** The sessions of one HTTP listener. Clients rarely say good-bye, so idle ones expire. */
export class LegacySessions {
  readonly #options: LegacySessionsDeps
  readonly #byId = new Map<string, LegacySession>()
  readonly #drops: Drops
  readonly #storedBytes = new HeldBytes(MAX_STORED_BYTES)
  readonly #sweeper: IdleSweeper<LegacySession>
  #opening = 0

  constructor(options: LegacySessionsDeps) {
    this.#options = options
    this.#drops = new Drops(options.log)
    this.#sweeper = new IdleSweeper(options.clock, {
      idleMs: () => options.idleMs,
      all: () => this.#byId.values(),
      idleSince: session => session.idleSince,
      leastMs: 1000,
      busyMs: SWEEP_MS,
      mostMs: SWEEP_MS,
      end: session => this.end(session, 'idle'),
    })
  }

  /** A new id, which names this process if there are others. */
  newId(): string {
    return this.#options.neighbours?.newId() ?? randomBytes(24).toString('base64url')
  }

  get size(): number {
    return this.#byId.size
  }

  /** Opens a session, or says whose limit is reached. Rejects when a plugin refuses it. */
  async open(
    init: Pick<SessionInit, 'client' | 'principal' | 'label' | 'profile' | 'choices'>,
  ): Promise<LegacySession | 'all' | 'own'> {
    const { principal, client } = init
    if (this.#checkCapacity(principal) !== undefined) this.#sweeper.sweep()
    const full = this.#checkCapacity(principal)
    if (full !== undefined) return full
    const { gate, clock, quota, name } = this.#options
    const id = this.newId()
    this.#opening++
    quota.count(principal, 1)
    try {
      const standalone = new StandaloneStream(client, new ServerRequests(clock, this.#drops))
      const session = await gate.openSession({
        ...init,
        id,
        listener: name,
        notify: notification => standalone.notify(notification),
        ask: ask => standalone.ask(ask),
      })
      const events = new EventStore(this.#storedBytes)
      const opened = new LegacySession(session, standalone, events, clock.now())
      this.#byId.set(id, opened)
      this.#sweeper.arm()
      return opened
    } catch (thrown) {
      quota.count(principal, -1)
      throw thrown
    } finally {
      this.#opening--
    }
  }

  #checkCapacity(principal: Principal): 'all' | 'own' | undefined {
    const { max, quota } = this.#options
    if (this.#byId.size + this.#opening >= max) return 'all'
    return quota.isFull(principal) ? 'own' : undefined
  }

  /** Finds a living session of this principal, in the profile it was opened for. One of another caller does not exist for it. */
  find(id: string, principal: Principal, profile: string | undefined): LegacySession | undefined {
    const found = this.#byId.get(id)
    if (found === undefined || !isSamePrincipal(found.session.principal, principal)) return undefined
    if (found.session.profile !== profile) return undefined
    if (this.#sweeper.isExpired(found)) {
      this.end(found, 'idle')
      return undefined
    }
    // With requests open it is not idle, and the last of them touches it.
    if (found.open.size === 0) found.touch(this.#options.clock.now())
    return found
  }

  end(one: LegacySession, reason: string): void {
    if (!this.#byId.delete(one.id)) return
    this.#options.quota.count(one.session.principal, -1)
    one.end(reason)
    this.#options.gate.closeSession(one.session, reason)
  }

  /** Sends the clients nothing more outside their requests. */
  stop(): void {
    for (const session of this.#byId.values()) session.stop()
  }

  /** Requests under way, of all sessions. */
  openRequests(): InboundRequest[] {
    return [...this.#byId.values()].flatMap(({ open }) => open.values())
  }

  endAll(reason: string): void {
    this.#sweeper.stop()
    for (const session of this.#byId.values()) this.end(session, reason)
  }
}

function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one === other || principalKey(one) === principalKey(other)
}

/** Time after which clients come back whose streams ended because the gateway stops; half as much to half as much again. */
const RECONNECT_MS = 1000

/** Messages to the client outside its requests, on its standalone stream. */
class StandaloneStream {
  readonly requests: ServerRequests
  readonly #client: ClientSide
  readonly #requester: Requester
  #stream: EventStreamWriter | undefined

  constructor(client: ClientSide, requests: ServerRequests) {
    this.#client = client
    this.requests = requests
    this.#requester = new Requester(requests, message => this.#stream?.send(message) === true)
  }

  get hasStream(): boolean {
    return this.#stream?.isOpen === true
  }

  notify(notification: Notification): boolean {
    const message = encodeClientNotification(notification, this.#client)
    return message !== undefined && this.#stream?.notify(message, isNews(notification.method)) === true
  }

  ask(ask: Ask): Promise<AskReply> {
    return this.#requester.ask(ask)
  }

  setStream(stream: EventStreamWriter): void {
    this.#stream = stream
  }

  end(): void {
    this.#stream?.end()
    this.#stream = undefined
  }

  /** Ends the stream of a client that is to come back, to another process or to the next one here. */
  endForReconnect(): void {
    // Not all of them at once.
    this.#stream?.retryAfter(Math.round(RECONNECT_MS * (0.5 + Math.random())))
    this.end()
  }
}

/** The first version whose clients can read an event without a message. */
const PRIMED_SINCE = '2025-11-25'

/** A request that runs this long is slow. */
const SLOW_MS = 500

/** One legacy client's conversation over HTTP. */
export class LegacySession implements StreamRecorder {
  readonly session: Session
  /** Requests of the client under way. */
  readonly open = new OpenRequests()
  /** Streams that the client can come back to. */
  readonly events: EventStore
  /** True once the client has tried to come back to a stream, so it knows how. */
  hasResumed = false
  readonly #standalone: StandaloneStream
  #activeAt: number
  #isPrimeScheduled = false

  constructor(session: Session, standalone: StandaloneStream, events: EventStore, now: number) {
    this.session = session
    this.events = events
    this.#standalone = standalone
    this.#activeAt = now
  }

  get id(): string {
    return this.session.id
  }

  /** Requests of servers that the client was sent. */
  get requests(): ServerRequests {
    return this.#standalone.requests
  }

  /** Makes a stream the client's standalone one; the newest replaces the one before. */
  setStandaloneStream(stream: SseStream): void {
    this.#standalone.end()
    this.#standalone.setStream(this.makeResumable(stream))
  }

  /** Makes the stream of a request one that the client can come back to, where it may know how. */
  makeResumable(stream: SseStream): EventStreamWriter {
    const { isPrimed } = this
    if (!isPrimed && !this.hasResumed) return stream
    const kept = this.events.createStream(stream)
    if (isPrimed) kept.prime()
    return kept
  }

  get isPrimed(): boolean {
    return this.session.client.version >= PRIMED_SINCE
  }

  /**
   * Gives requests that take long an id to come back with, before anything was sent for them: without one, the answer to a
   * client that loses its connection is lost. One look at a time for the whole session costs quick requests nothing.
   */
  primeSlowRequests(clock: Clock): void {
    if (this.#isPrimeScheduled || !this.isPrimed) return
    this.#isPrimeScheduled = true
    const before = new Set<InboundRequest>(this.open.values())
    clock.after(SLOW_MS, () => {
      this.#isPrimeScheduled = false
      for (const request of this.open.values()) if (before.has(request)) request.prime()
      if (this.open.size > 0) this.primeSlowRequests(clock)
    })
  }

  touch(now: number): void {
    this.#activeAt = now
  }

  /** The time since which nothing happens here; undefined while something does. */
  get idleSince(): number | undefined {
    return this.open.size > 0 || this.#standalone.hasStream ? undefined : this.#activeAt
  }

  /** Ends what goes from us to the client: the gateway stops, and no reply would be taken any more. */
  stop(): void {
    this.#standalone.endForReconnect()
    this.requests.close('the gateway is stopping')
  }

  end(reason: string): void {
    this.#standalone.end()
    for (const request of this.open.values()) request.cancel(reason)
    this.requests.close(reason)
    this.events.close()
  }
}
