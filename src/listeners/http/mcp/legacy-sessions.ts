import { randomBytes } from 'node:crypto'
import type {
  Ask,
  AskReply,
  ClientDescription,
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
import { MemoryBudget } from '../../../net/backlog.ts'
import { DroppedMessages } from '../../../net/unexpected-messages.ts'
import { IdleSweeper } from '../../../util/clock.ts'
import { encodeClientNotification } from '../../client/client-protocol.ts'
import type { InboundRequest } from '../../client/inbound-request.ts'
import { OpenRequests } from '../../client/inbound-request.ts'
import { Requester, ServerRequests } from '../../client/server-requests.ts'
import type { SessionQuota } from '../open-connections.ts'
import type { StreamRecorder } from '../response.ts'
import type { EventStreamWriter, SseStream } from '../sse-writer.ts'
import { EventStore, MAX_STORED_BYTES } from './event-store.ts'

interface LegacySessionsDeps {
  readonly name: string
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  /** Peers with sessions; session ids name their owner. */
  readonly neighbours?: PeerDirectory | undefined
  /** Session limit. */
  max(): number
  /** Sessions per caller, including those being opened. */
  readonly quota: SessionQuota
  idleMs(): number
}

/** Sessions of one HTTP listener. Idle ones expire, as clients rarely send DELETE. */
export class LegacySessions {
  readonly #options: LegacySessionsDeps
  readonly #byId = new Map<string, LegacySession>()
  readonly #drops: DroppedMessages
  readonly #storedBytes = new MemoryBudget(MAX_STORED_BYTES)
  readonly #sweeper: IdleSweeper<LegacySession>
  #opening = 0

  constructor(options: LegacySessionsDeps) {
    this.#options = options
    this.#drops = new DroppedMessages(options.log)
    this.#sweeper = new IdleSweeper(options.clock, {
      idleMs: () => options.idleMs(),
      list: () => this.#byId.values(),
      idleSince: session => session.idleSince,
      close: session => this.end(session, 'idle'),
    })
  }

  /** Creates an id, which names this process if there are peers. */
  newId(): string {
    return this.#options.neighbours?.createSessionId() ?? randomBytes(24).toString('base64url')
  }

  get size(): number {
    return this.#byId.size
  }

  /** Opens a session, or returns the limit that is reached. Rejects if a plugin refuses it. */
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
    if (this.#byId.size + this.#opening >= max()) return 'all'
    return quota.isFull(principal) ? 'own' : undefined
  }

  /** Finds a session by id, principal and profile; other callers' sessions are invisible. */
  find(id: string, principal: Principal, profile: string | undefined): LegacySession | undefined {
    const owner = this.#byId.get(id)
    if (owner === undefined || !isSamePrincipal(owner.session.principal, principal)) return undefined
    if (owner.session.profile !== profile) return undefined
    if (this.#sweeper.isExpired(owner)) {
      this.end(owner, 'idle')
      return undefined
    }
    // Update only if idle: open requests update the activity time when they end.
    if (owner.open.size === 0) owner.touch(this.#options.clock.now())
    return owner
  }

  end(one: LegacySession, reason: string): void {
    if (!this.#byId.delete(one.id)) return
    this.#options.quota.count(one.session.principal, -1)
    one.end(reason)
    this.#options.gate.closeSession(one.session, reason)
  }

  /** Closes all standalone streams. */
  stop(): void {
    for (const session of this.#byId.values()) session.stop()
  }

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

/** Reconnect delay after a shutdown; jitter ±50 %. */
const RECONNECT_MS = 1000

/** Messages outside requests, on the standalone stream. */
class StandaloneStream {
  readonly requests: ServerRequests
  readonly #client: ClientDescription
  readonly #requester: Requester
  #stream: EventStreamWriter | undefined

  constructor(client: ClientDescription, requests: ServerRequests) {
    this.#client = client
    this.requests = requests
    this.#requester = new Requester(requests, message => this.#stream?.send(message) === true)
  }

  get hasStream(): boolean {
    return this.#stream?.isOpen === true
  }

  notify(notification: Notification): boolean {
    const message = encodeClientNotification(notification, this.#client)
    return message !== undefined && this.#stream?.notify(message) === true
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

  /** Ends the stream so that the client reconnects to another or the next process. */
  endForReconnect(): void {
    // Jitter against a thundering herd.
    this.#stream?.retryAfter(Math.round(RECONNECT_MS * (0.5 + Math.random())))
    this.end()
  }
}

/** First version whose clients accept an event without a message. */
const PRIMED_SINCE = '2025-11-25'

/** Slow request threshold. */
const SLOW_MS = 500

/** A legacy HTTP session. */
export class LegacySession implements StreamRecorder {
  readonly session: Session
  readonly open = new OpenRequests()
  readonly events: EventStore
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

  /** Pending server requests to this client. */
  get requests(): ServerRequests {
    return this.#standalone.requests
  }

  /** Replaces the standalone stream. */
  setStandaloneStream(stream: SseStream): void {
    this.#standalone.end()
    this.#standalone.setStream(this.makeResumable(stream))
  }

  /** Makes a request's stream resumable if the client may support that. */
  makeResumable(stream: SseStream): EventStreamWriter {
    if (!this.isPrimed) return stream
    const stored = this.events.createStream(stream)
    stored.prime()
    return stored
  }

  get isPrimed(): boolean {
    return this.session.client.version >= PRIMED_SINCE
  }

  /**
   * Sends event ids for slow requests, so that a client that loses its connection can still get the answer. One timer
   * serves the whole session.
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

  /** Last activity time; undefined while busy. */
  get idleSince(): number | undefined {
    return this.open.size > 0 || this.#standalone.hasStream ? undefined : this.#activeAt
  }

  /** Closes the standalone stream and fails server requests when the gateway stops. */
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
