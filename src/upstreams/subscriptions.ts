import type { Answer, Call, Notification, ServerDescription, Session, UpstreamContext } from '../api/index.ts'
import { Backoff, HEALTHY_MS } from '../net/backoff.ts'
import { toModernParams } from '../protocol/era/convert.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { RpcResponse } from '../protocol/jsonrpc.ts'
import { LISTEN_FLAGS } from '../protocol/methods.ts'
import { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { Connection } from './connection/connection.ts'
import { isGlobal } from './connection/translate-call.ts'
import type { Subscription } from './transport.ts'

export const SUBSCRIBE = 'resources/subscribe'
export const UNSUBSCRIBE = 'resources/unsubscribe'
const EMPTY_ANSWER: Answer = Object.freeze({ result: Payload.of({}) })

/** One session's subscription to a URI, on the connection for its calls. */
interface HeldUri {
  count: number
  on: ConnectionSubscriptions
}

/** Resource subscriptions by session. */
export class ResourceSubscriptions {
  readonly bySession = new Map<string, Map<string, HeldUri>>()

  /** Handles `resources/subscribe` on a connection. */
  async subscribe(call: Call, connection: Connection, on: ConnectionSubscriptions): Promise<Answer> {
    const uri = String(call.params?.uri)
    const { id } = call.exchange.session
    const held = this.bySession.get(id)?.get(uri)
    if (held !== undefined) {
      held.count++
      return EMPTY_ANSWER
    }
    const answer = await on.addUri(uri, { call, connection })
    if ('result' in answer) this.#hold(id, uri, on)
    return answer
  }

  /** Handles `resources/unsubscribe` on any connection. */
  async unsubscribe({ params, exchange }: Call): Promise<Answer> {
    const uri = String(params?.uri)
    const uris = this.bySession.get(exchange.session.id)
    const held = uris?.get(uri)
    if (uris === undefined || held === undefined || --held.count > 0) return EMPTY_ANSWER
    uris.delete(uri)
    if (uris.size === 0) this.bySession.delete(exchange.session.id)
    await held.on.removeUri(uri)
    return EMPTY_ANSWER
  }

  forgetSession({ id }: Session): void {
    const uris = this.bySession.get(id)
    this.bySession.delete(id)
    for (const [uri, { on }] of uris ?? []) void on.removeUri(uri)
  }

  /** True if a session has a subscription on this connection. */
  isHeld({ id }: Session, on: ConnectionSubscriptions): boolean {
    return [...(this.bySession.get(id)?.values() ?? [])].some(held => held.on === on)
  }

  /** A connection was removed: its subscriptions continue on the main one. */
  move(from: ConnectionSubscriptions, to: ConnectionSubscriptions | undefined): void {
    from.stop()
    if (!from.isWanted || to === undefined) return
    for (const uris of this.bySession.values())
      for (const [uri, held] of uris) {
        if (held.on !== from) continue
        held.on = to
        void to.addUri(uri)
      }
  }

  #hold(session: string, uri: string, on: ConnectionSubscriptions): void {
    const uris = this.bySession.get(session) ?? new Map<string, HeldUri>()
    this.bySession.set(session, uris)
    const before = uris.get(uri)
    uris.set(uri, { count: (before?.count ?? 0) + 1, on })
    // Count a subscription once, even if it was repeated meanwhile.
    void before?.on.removeUri(uri)
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
export class ConnectionSubscriptions {
  readonly #context: UpstreamContext
  readonly #role: SubscriptionsRole
  readonly #uris = new Map<string, number>()
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
    else if (this.#uris.delete(uri)) await this.#notifyServer('resources/unsubscribe', uri)
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
