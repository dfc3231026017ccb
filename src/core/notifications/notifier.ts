import type { Exchange, Notification, Session, UpstreamState } from '../../api/index.ts'
import { GatewayError, getOwnerProblem, getErrorMessage } from '../../errors/errors.ts'
import { hasName, createUnlistedEntry } from '../../api/catalog-entry.ts'
import type { NotificationContext } from '../../hooks/hook-taps.ts'
import { isLevelEnabled } from '../../protocol/era/convert.ts'
import { isObject } from '../../protocol/json/json.ts'
import { KINDS, getChangedKinds, LISTS } from '../../protocol/methods.ts'
import { ListChangeNotifier } from './list-changes.ts'
import { getLiveUpstream } from '../reused-upstream.ts'
import { ResourceHolders } from './resource-holders.ts'
import { getBaseSession } from '../session.ts'
import type { Graph, ListenFilter, ResourceOwner } from '../graph-types.ts'
import { callOwner } from './subscriptions.ts'
import { ANONYMOUS, principalKey } from '../../api/principal.ts'

/** Maximum open `subscriptions/listen` streams. */
const MAX_LISTENS = 1024
/** Maximum open streams per caller. */
const MAX_LISTENS_EACH = 128
/** Maximum subscribed URIs per caller: at least the limit of one listen. */
const MAX_HELD_EACH = 1024
/** Method by which a legacy server reports task status (2025-11-25, tasks). */
const TASK_STATUS = 'notifications/tasks/status'

export class Notifier {
  readonly #graph: Graph
  readonly #listens = new Map<Exchange, ListenFilter>()
  readonly #listenEnds = new Set<() => void>()
  readonly #resources: ResourceHolders
  readonly #holdShares = new SessionQuota(MAX_HELD_EACH)
  readonly #listenShares = new SessionQuota(MAX_LISTENS_EACH)
  readonly #listChanges: ListChangeNotifier
  readonly #goneUpstreams = new Set<string>()
  #sessions: ReadonlySet<Session> = new Set()
  /** Notifications without a recipient, for the log and metrics. */
  dropped = 0

  constructor(graph: Graph) {
    this.#graph = graph
    this.#listChanges = new ListChangeNotifier(graph)
    this.#resources = new ResourceHolders(graph.clock, (holder, update) => this.#notifyHolder(holder, update))
  }

  /** Sets the sessions that receive unrequested notifications; they outlive a generation. */
  attach(sessions: ReadonlySet<Session>): void {
    this.#sessions = sessions
  }

  /** Sends a request's notification, unless a tap drops it or it is below the client's log level. */
  emit(exchange: Exchange, notification: Notification, send: (notification: Notification) => void): void {
    if (notification.method === 'notifications/message' && !this.#isWanted(exchange.session, notification)) return
    const passed = this.#runTaps(notification, { direction: 'client', upstream: undefined, exchange })
    if (passed !== undefined) send(passed)
  }

  /** Handles an upstream notification without a request; only known methods pass. */
  notifyUpstream(upstream: string, received: Notification, isMeant?: (session: Session) => boolean): void {
    const notification = this.#runTaps(received, { direction: 'client', upstream, exchange: undefined })
    if (notification === undefined) return
    if (getChangedKinds(notification.method).length > 0)
      this.#listChanges.add(notification.method, upstream, isMeant, true)
    else if (notification.method === 'notifications/resources/updated')
      this.#notifyResourceUpdate(upstream, notification, isMeant)
    else if (
      notification.method !== TASK_STATUS ||
      !this.#graph.tasks.handleTaskStatus(upstream, notification, isMeant)
    )
      this.dropped++
  }

  /** An upstream's arrival or departure changes every list that includes it. */
  handleStateChange(upstream: string, state: UpstreamState): void {
    const node = this.#graph.upstreams.get(upstream)
    this.#graph.hooks.getRunner('upstreamState')?.(upstream, state, node && getOwnerProblem(node.upstream))
    if (!this.#isArrivalOrDeparture(upstream, state)) return
    const capabilities = this.#graph.upstreams.get(upstream)?.upstream.server?.capabilities ?? {}
    for (const kind of KINDS)
      if (capabilities[LISTS[kind].capability] !== undefined) this.announceListChange(LISTS[kind].changed, upstream)
  }

  /** Repeated retries count as one departure. */
  #isArrivalOrDeparture(upstream: string, state: UpstreamState): boolean {
    if (state === 'ready') this.#goneUpstreams.delete(upstream)
    if (state !== 'failed') return state === 'ready'
    const isNew = !this.#goneUpstreams.has(upstream)
    this.#goneUpstreams.add(upstream)
    return isNew
  }

  /** All sessions that receive list changes, including those of listens. */
  *listAudience(): Generator<Session> {
    yield* this.#sessions
    for (const exchange of this.#listens.keys()) yield exchange.session
  }

  /** Notifies the selected part of the audience immediately. */
  notifyAudience(method: string, isMeant: (session: Session) => boolean): void {
    const notification = { method, params: undefined }
    for (const session of this.#sessions) if (isMeant(session)) session.notify(notification)
    for (const [exchange, filter] of this.#listens)
      if (filter.methods.has(method) && isMeant(exchange.session)) exchange.emit(notification)
  }

  /** Notifies the clients that may see the changed list. */
  announceListChange(method: string, upstream: string): void {
    this.#listChanges.add(method, upstream)
  }

  get listening(): number {
    return this.#listens.size
  }

  /** Opens a listen, which lasts until its promise resolves; undefined if the limit is reached. */
  listen(exchange: Exchange, filter: ListenFilter): Promise<void> | undefined {
    const { session } = exchange
    if (this.#listens.size >= MAX_LISTENS || this.#listenShares.isFull(session)) return undefined
    this.#listens.set(exchange, filter)
    this.#listenShares.count(session, 1)
    return new Promise<void>(resolve => {
      const end = (): void => {
        if (this.#listens.delete(exchange)) this.#listenShares.count(session, -1)
        this.#listenEnds.delete(end)
        resolve()
      }
      this.#listenEnds.add(end)
      exchange.onCancel(end)
      if (filter.methods.size === 0 && filter.uris.size === 0 && filter.taskIds.length === 0) end()
    })
  }

  /** Completes every listen: clients reconnect to the next generation. */
  endListens(): void {
    for (const end of this.#listenEnds) end()
  }

  /** Takes over the previous generation's subscriptions, if their sessions may still see the resources. */
  adopt(before: Notifier): void {
    for (const { uri, owner, holders } of [...before.#resources.all()]) {
      const node = this.#graph.upstreams.get(owner.upstream)
      if (node === undefined) continue
      const old = before.#graph.upstreams.get(owner.upstream)?.upstream
      // A replaced server does not know the previous one's subscriptions.
      const isSame = old !== undefined && getLiveUpstream(old) === getLiveUpstream(node.upstream)
      for (const holder of [...holders]) {
        if ('emit' in holder) continue
        const session = holder as Session
        // Or the draining generation would still notify it, also about hidden resources.
        before.removeHolder(uri, session)
        const isKept = this.#mayHold(uri, owner, session)
        if (isKept) this.addHolder(uri, owner, session)
        if (isKept !== isSame) this.#notifyOwner(isKept ? 'subscribe' : 'unsubscribe', owner, session)
      }
    }
  }

  #notifyOwner(action: 'subscribe' | 'unsubscribe', owner: ResourceOwner, session: Session): void {
    void callOwner(`resources/${action}`, owner, this.#graph, session).catch(() => undefined)
  }

  /** True if this generation's rules still show a subscribed resource to the session. */
  #mayHold(uri: string, { upstream, original }: ResourceOwner, session: Session): boolean {
    const prefix = this.#graph.upstreams.get(upstream)?.prefix ?? ''
    const entry = createUnlistedEntry('resources', upstream, original, prefix)
    const visible = this.#graph.catalog.applyCatalogTaps(entry, session)
    return visible !== undefined && hasName(visible, uri)
  }

  /** Subscribes a holder to a URI. Its upstream is notified of every holder, as each may have its own connection. */
  addHolder(uri: string, owner: ResourceOwner, by: object): 'new' | 'known' | 'full' {
    const holder = getHolder(by)
    if (this.#resources.has(uri, holder)) return 'known'
    const session = getSession(holder)
    if (this.#holdShares.isFull(session) || !this.#resources.addHolder(uri, owner, holder)) return 'full'
    this.#holdShares.count(session, 1)
    return 'new'
  }

  /** Unsubscribes a holder; returns the owner to unsubscribe from, or undefined if the holder was not subscribed. */
  removeHolder(uri: string, by: object): ResourceOwner | undefined {
    const holder = getHolder(by)
    const owner = this.#resources.removeHolder(uri, holder)
    if (owner !== undefined) this.#holdShares.count(getSession(holder), -1)
    return owner
  }

  /** Releases an ended session's subscriptions. */
  forgetSession(session: Session): void {
    for (const { uri } of this.#resources.all()) {
      const owner = this.removeHolder(uri, session)
      if (owner !== undefined) this.#notifyOwner('unsubscribe', owner, session)
    }
  }

  #notifyResourceUpdate(
    upstream: string,
    notification: Notification,
    isMeant: (session: Session) => boolean = all,
  ): void {
    const original = notification.params?.uri
    const resource = typeof original === 'string' ? this.#resources.findByOriginal(upstream, original) : undefined
    if (resource === undefined) {
      this.dropped++
      return
    }
    const { owner, holders, updates } = resource
    const renamed =
      owner.exposed === original
        ? notification
        : { ...notification, params: { ...notification.params, uri: owner.exposed } }
    for (const holder of holders) if (isMeant(getSession(holder))) updates.notifyHolder(holder, renamed)
  }

  #notifyHolder(holder: object, notification: Notification): void {
    const exchange = 'emit' in holder ? (holder as Exchange) : undefined
    if (exchange === undefined) getSession(holder).notify(notification)
    // No notifications before the acknowledgement.
    else if (this.#listens.has(exchange)) exchange.emit(notification)
  }

  #isWanted(session: Session, notification: Notification): boolean {
    const minLevel = session.client.logLevel
    if (minLevel === undefined) return session.client.era === 'legacy'
    return isLevelEnabled(isObject(notification.params) ? notification.params.level : undefined, minLevel)
  }

  /** Runs the notification taps: returns the notification, a replacement, or undefined to drop it. */
  #runTaps(notification: Notification, context: NotificationContext): Notification | undefined {
    try {
      const decided = this.#graph.hooks.getRunner('notification', notification.method)?.(notification, context)
      if (decided !== 'drop') return decided ?? notification
    } catch (error) {
      // No reply is possible; log and continue.
      const fields = error instanceof GatewayError ? { code: error.code, ...error.fields } : {}
      this.#graph.log.error(getErrorMessage(error), { method: notification.method, ...fields })
    }
    this.dropped++
    return undefined
  }
}

function all(): boolean {
  return true
}

function getSession(holder: object): Session {
  return 'emit' in holder ? (holder as Exchange).session : (holder as Session)
}

/** A listen is its own holder; otherwise the session is, even if a request sees a variant of it. */
function getHolder(by: object): object {
  return 'emit' in by ? by : getBaseSession(by as Session)
}

/** Counts table entries per caller; anonymous callers count separately, by session. */
class SessionQuota {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  isFull(session: Session): boolean {
    return (this.#counts.get(getSessionKey(session)) ?? 0) >= this.#max
  }

  count(session: Session, change: 1 | -1): void {
    const key = getSessionKey(session)
    const count = (this.#counts.get(key) ?? 0) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

function getSessionKey({ principal, id }: Session): string {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) ? `${key}#${id}` : key
}
