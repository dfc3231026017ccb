import { LISTEN_FLAGS } from '../../protocol/methods.ts'
import type { Answer, Call, Notification, ServerDescription, Session, UpstreamContext } from '../../api/index.ts'
import { toModernParams } from '../../protocol/era/convert-to-modern.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import { Payload } from '../../protocol/payload.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { Backoff, HEALTHY_MS } from '../../net/backoff.ts'
import type { Connection } from '../connection/connection.ts'
import { isGlobal } from '../connection/translate-call.ts'
import type { Supervisor } from '../supervisor.ts'
import type { Subscription } from '../transport.ts'

/** Finds the supervisor for a session's separate connection if it is ready; undefined for the main one. */
export type FindOwnSupervisor = (session: Session) => Supervisor | undefined

interface SubscriptionCount {
  count: number
  watch: ConnectionSubscriptions
}

interface SessionSubscriptions {
  readonly session: Session
  readonly uris: Map<string, SubscriptionCount>
}

const EMPTY_ANSWER: Answer = Object.freeze({ result: Payload.of({}) })

/**
 * Resource subscriptions: each session subscribes on the connection for its calls, and moves to the next when that
 * closes.
 */
export class ResourceSubscriptions {
  readonly #context: UpstreamContext
  readonly #findOwnSupervisor: FindOwnSupervisor
  /** Subscriptions on the shared connection, including changed lists. */
  readonly #main: ConnectionSubscriptions
  readonly #pooled = new Map<Supervisor, ConnectionSubscriptions>()
  readonly #bySession = new Map<string, SessionSubscriptions>()

  constructor(context: UpstreamContext, findOwnSupervisor: FindOwnSupervisor) {
    this.#context = context
    this.#findOwnSupervisor = findOwnSupervisor
    this.#main = new ConnectionSubscriptions(context, {
      listensForLists: true,
      notify: this.#createNotifier(() => this.#main),
    })
  }

  /** True if a client watches a resource, on any connection or on this supervisor's. */
  isWanted(supervisor?: Supervisor): boolean {
    return supervisor === undefined ? this.#bySession.size > 0 : this.#pooled.get(supervisor)?.isWanted === true
  }

  /** Handles `resources/subscribe` on the connection for the session's calls. */
  async subscribe(call: Call, connection: Connection): Promise<Answer> {
    const uri = String(call.params?.uri)
    const { session } = call.exchange
    const supervisor = this.#findOwnSupervisor(session)
    const watch = supervisor?.connection === connection ? this.#getSubscriptions(supervisor) : this.#main
    const hold = this.#bySession.get(session.id)?.uris.get(uri)
    if (hold?.watch === watch) {
      hold.count++
      return EMPTY_ANSWER
    }
    const answer = await watch.addUri(uri, { call, connection })
    if ('result' in answer) this.#recordSubscription(session, uri, watch)
    // The connection may have closed or become ready meanwhile.
    this.#moveSessions()
    return answer
  }

  /** Handles `resources/unsubscribe` on any connection. */
  async unsubscribe({ params, exchange }: Call): Promise<Answer> {
    const uri = String(params?.uri)
    const subscribed = this.#bySession.get(exchange.session.id)
    const hold = subscribed?.uris.get(uri)
    if (subscribed === undefined || hold === undefined || --hold.count > 0) return EMPTY_ANSWER
    subscribed.uris.delete(uri)
    if (subscribed.uris.size === 0) this.#bySession.delete(exchange.session.id)
    await hold.watch.removeUri(uri)
    return EMPTY_ANSWER
  }

  /** Follows the main connection; undefined when it closed. */
  setMainConnection(connection: Connection | undefined): void {
    this.#main.setConnection(connection)
    if (connection !== undefined) this.#moveSessions()
  }

  /** A connection other than the main one is ready or closed. */
  handleConnectionChange(supervisor: Supervisor): void {
    if (this.#pooled.size === 0 && this.#bySession.size === 0) return
    const watch = this.#pooled.get(supervisor)
    if (supervisor.connection !== undefined && watch?.connection !== supervisor.connection)
      watch?.setConnection(supervisor.connection)
    this.#moveSessions()
  }

  forgetSession({ id }: Session): void {
    const subscribed = this.#bySession.get(id)
    if (subscribed === undefined) return
    this.#bySession.delete(id)
    for (const [uri, { watch }] of subscribed.uris) void watch.removeUri(uri)
  }

  stop(): void {
    for (const watch of [this.#main, ...this.#pooled.values()]) watch.stop()
  }

  /** Returns a filter for the sessions that a change on this connection concerns; undefined for all subscribers. */
  getAudience(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    return this.#createAudience(this.#pooled.get(supervisor) ?? this.#main)
  }

  #createAudience(watch: ConnectionSubscriptions): ((session: Session) => boolean) | undefined {
    if (this.#pooled.size === 0) return undefined
    return ({ id }) => [...(this.#bySession.get(id)?.uris.values() ?? [])].some(hold => hold.watch === watch)
  }

  #createNotifier(of: () => ConnectionSubscriptions): (notification: Notification) => void {
    return notification => this.#context.notify(notification, this.#createAudience(of()))
  }

  #getSubscriptions(supervisor: Supervisor | undefined): ConnectionSubscriptions {
    if (supervisor === undefined) return this.#main
    const existing = this.#pooled.get(supervisor)
    if (existing !== undefined) return existing
    const watch: ConnectionSubscriptions = new ConnectionSubscriptions(this.#context, {
      listensForLists: false,
      notify: this.#createNotifier(() => watch),
    })
    watch.setConnection(supervisor.connection)
    this.#pooled.set(supervisor, watch)
    return watch
  }

  #recordSubscription(session: Session, uri: string, watch: ConnectionSubscriptions): void {
    const subscribed = this.#bySession.get(session.id) ?? { session, uris: new Map<string, SubscriptionCount>() }
    this.#bySession.set(session.id, subscribed)
    const before = subscribed.uris.get(uri)
    subscribed.uris.set(uri, { count: (before?.count ?? 0) + 1, watch })
    // Count a subscription once, even if it was repeated or moved meanwhile.
    void before?.watch.removeUri(uri)
  }

  /**
   * Moves subscriptions to the connections that calls use now; unsubscribes from the old connection after the new one
   * is subscribed.
   */
  #moveSessions(): void {
    for (const { session, uris } of this.#bySession.values()) {
      const watch = this.#getSubscriptions(this.#findOwnSupervisor(session))
      for (const [uri, hold] of uris) {
        const before = hold.watch
        if (before === watch) continue
        hold.watch = watch
        void watch.addUri(uri).then(() => before.removeUri(uri))
      }
    }
    this.#removeClosed()
  }

  /** Drops closed connections. A ready one may be needed again. */
  #removeClosed(): void {
    for (const [supervisor, watch] of this.#pooled)
      if (supervisor.connection === undefined && !watch.isWanted) this.#pooled.delete(supervisor)
  }
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const MAX_URIS = 10_000
/** Timeout for the server's acknowledgement; a later one still takes effect. */
const ACKNOWLEDGE_MS = 5000

interface SubscriptionsRole {
  /** True if it listens for changed lists as well. */
  readonly listensForLists: boolean
  notify(notification: Notification): void
}

/**
 * Subscriptions on one connection: one open `subscriptions/listen` on a modern server, one subscription per URI on a
 * legacy server; renewed on every new connection.
 */
class ConnectionSubscriptions {
  readonly #context: UpstreamContext
  readonly #role: SubscriptionsRole
  readonly #uris = new Map<string, number>()
  /** Unsubscribe requests to a legacy server in progress: over HTTP, requests may arrive out of order. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #backoff = new Backoff()
  #connection: Connection | undefined
  #current: Subscription | undefined
  #renewal: Promise<void> | undefined
  #stopRetry: (() => void) | undefined
  /** True if the server granted anything; an empty listen closes immediately and need not be repeated. */
  #isGranted = true
  #since = Infinity

  constructor(context: UpstreamContext, role: SubscriptionsRole) {
    this.#context = context
    this.#role = role
  }

  get connection(): Connection | undefined {
    return this.#connection
  }

  get isWanted(): boolean {
    return this.#uris.size > 0
  }

  /** Listens on a new connection; undefined when there is none. */
  setConnection(connection: Connection | undefined): void {
    this.#stopRetry?.()
    this.#connection = connection
    this.#current = undefined
    if (connection?.server?.era === 'modern') void this.#renewListen()
    else
      for (const uri of this.#uris.keys())
        void connection?.sendRequest('resources/subscribe', { uri }).catch(() => undefined)
  }

  stop(): void {
    this.#stopRetry?.()
    this.#connection = undefined
  }

  /** Adds one subscriber to a URI. Without a call, the server is only notified, now or on the next connection. */
  async addUri(uri: string, by?: { readonly call: Call; readonly connection: Connection }): Promise<Answer> {
    await this.#ending.get(uri)
    const refusal = by === undefined ? undefined : this.#findRefusal(by.connection)
    if (refusal !== undefined) return { error: refusal }
    const count = this.#uris.get(uri) ?? 0
    if (count === 0 && by?.connection.server?.era === 'legacy')
      return this.#subscribeLegacy(uri, by.call, by.connection)
    this.#uris.set(uri, count + 1)
    if (count === 0) await this.#notifyServer('resources/subscribe', uri)
    return { result: Payload.of({}) }
  }

  /** Removes one subscriber from a URI. Never rejects. */
  async removeUri(uri: string): Promise<void> {
    const count = this.#uris.get(uri) ?? 0
    if (count > 1) this.#uris.set(uri, count - 1)
    else if (this.#uris.delete(uri)) {
      const unsubscribing = this.#notifyServer('resources/unsubscribe', uri).then(() => void this.#ending.delete(uri))
      this.#ending.set(uri, unsubscribing)
      await unsubscribing
    }
  }

  async #notifyServer(method: string, uri: string): Promise<void> {
    const connection = this.#connection
    if (connection?.server?.era === 'modern') await this.#renewListen()
    else await connection?.sendRequest(method, { uri }).catch(() => undefined)
  }

  #findRefusal({ server }: Connection): RpcError | undefined {
    const resources = server?.capabilities.resources
    if (!isObject(resources) || resources.subscribe !== true) return rpcError(RPC.methodNotFound, 'Method not found')
    return this.#uris.size < MAX_URIS ? undefined : rpcError(RPC.internal, 'too many resource subscriptions')
  }

  async #subscribeLegacy(uri: string, call: Call, connection: Connection): Promise<Answer> {
    const answer = await connection.sendCall(call)
    if ('result' in answer) this.#uris.set(uri, (this.#uris.get(uri) ?? 0) + 1)
    return answer
  }

  /** Renews the listen with all current URIs; changes in the same tick share one listen. */
  #renewListen(): Promise<void> {
    this.#renewal ??= Promise.resolve().then(() => {
      this.#renewal = undefined
      return this.#connection?.server?.era === 'modern' ? this.#openListen(this.#connection) : undefined
    })
    return this.#renewal
  }

  #openListen(connection: Connection): Promise<void> {
    this.#stopRetry?.()
    const previous = this.#current
    const notifications = this.#listWanted(connection)
    this.#current = undefined
    this.#isGranted = true
    this.#since = Infinity
    if (Object.keys(notifications).length === 0) {
      previous?.end()
      return Promise.resolve()
    }
    return new Promise(acknowledged => {
      const giveUp = this.#context.clock.after(ACKNOWLEDGE_MS, acknowledged)
      const done = (): void => {
        giveUp()
        previous?.end()
        acknowledged()
      }
      const current = connection.subscribe(
        'subscriptions/listen',
        this.#createListenParams(connection, notifications),
        notification => this.#handleNotification(notification, done),
      )
      this.#current = current
      void current.response
        .catch(() => undefined)
        .then(response => {
          done()
          this.#handleListenEnd(current, connection, response)
        })
    })
  }

  #createListenParams(connection: Connection, notifications: JsonObject): JsonObject {
    const client = { info: { ...this.#context.gateway }, capabilities: {}, logLevel: undefined }
    return toModernParams({ notifications }, client, connection.server?.version ?? '', undefined)
  }

  #listWanted(connection: Connection): JsonObject {
    const filter: JsonObject = {}
    if (this.#role.listensForLists)
      for (const [kind, flag] of Object.entries(LISTEN_FLAGS))
        if (announcesChanges(kind, connection.server)) filter[flag] = true
    if (this.#uris.size > 0) filter.resourceSubscriptions = [...this.#uris.keys()]
    return filter
  }

  #handleNotification(notification: Notification, acknowledge: () => void): void {
    if (notification.method === ACKNOWLEDGED) {
      const honoured = notification.params?.notifications
      this.#isGranted = !isObject(honoured) || Object.keys(honoured).length > 0
      this.#since = this.#context.clock.now()
      acknowledge()
    } else if (isGlobal(notification.method)) this.#role.notify(notification)
  }

  #handleListenEnd(subscription: Subscription, connection: Connection, response: RpcResponse | undefined): void {
    if (subscription !== this.#current || connection !== this.#connection) return
    this.#current = undefined
    if (response?.error?.code === RPC.methodNotFound || !this.#isGranted) return
    if (this.#context.clock.now() - this.#since >= HEALTHY_MS) this.#backoff.reset()
    this.#stopRetry = this.#context.clock.after(this.#backoff.next(), () => this.#retryLater(connection))
  }

  #retryLater(connection: Connection): void {
    void this.#renewListen().then(() => {
      if (this.#role.listensForLists)
        for (const change of createListChanges(connection.server)) this.#role.notify(change)
    })
  }
}

/** Creates list changes after a gap in notifications. */
export function createListChanges(server: ServerDescription | undefined): Notification[] {
  return Object.keys(LISTEN_FLAGS)
    .filter(kind => announcesChanges(kind, server))
    .map(kind => ({ method: `notifications/${kind}/list_changed`, params: undefined }))
}

function announcesChanges(kind: string, server: ServerDescription | undefined): boolean {
  const capability = server?.capabilities[kind]
  return isObject(capability) && capability.listChanged === true
}
