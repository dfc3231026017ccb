import type {
  ListedRoots,
  ClientRootsProvider,
  Ask,
  AskReply,
  Notification,
  Session,
  Upstream,
} from '../../api/index.ts'
import type { Graph, UpstreamNode } from '../graph-types.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../../protocol/era/capabilities.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { settlesWithin } from '../../util/clock.ts'

import { getLiveUpstream } from '../reused-upstream.ts'
import { getBaseSession } from '../session.ts'
import { isVisible, listVisibleUpstreams } from '../capabilities.ts'

/** Maximum wait in milliseconds for a first client; a refused server is notified when one arrives. */
const MAX_ARRIVAL_MS = 2000
/** Deadline in milliseconds for a client to list its roots. */
const MAX_ANSWER_MS = 10_000
/** Changes within this time cause one notification. */
const COALESCE_MS = 100

/** Checks whether a session uses a connection; undefined if all sessions share it. */
type UsesConnection = ((session: Session) => boolean) | undefined

/**
 * Serves client roots to legacy servers that request them outside a call (2025-11-25, roots). Only a connection's
 * single client is asked, and only for a server that it may see: otherwise the owner of the roots is ambiguous.
 */
export class ClientRoots {
  readonly #graph: () => Graph
  readonly #sessions: ReadonlySet<Session>
  /** Clients that have sent `notifications/initialized`; no others may receive requests (2025-11-25, lifecycle). */
  readonly #ready = new WeakSet<Session>()
  /** One `roots/list` per client at a time, shared by all servers. */
  readonly #asking = new Map<Session, Promise<AskReply>>()
  readonly #changed = new Set<Session>()
  #arrivals = Promise.withResolvers<void>()
  #isNotifying = false

  constructor(graph: () => Graph, sessions: ReadonlySet<Session>) {
    this.#graph = graph
    this.#sessions = sessions
  }

  handleNotification(session: Session, { method }: Notification): void {
    const client = getBaseSession(session)
    if (method === 'notifications/initialized') this.#handleArrival(client)
    else if (method === 'notifications/roots/list_changed') {
      this.#changed.add(client)
      // A pending reply may hold outdated roots.
      this.#asking.delete(client)
      this.#notifySoon()
    }
  }

  #handleArrival(client: Session): void {
    this.#ready.add(client)
    this.#arrivals.resolve()
    this.#arrivals = Promise.withResolvers()
    this.#notifySoon()
  }

  /** After a session ends, another client may be the only one. */
  handleSessionEnd(): void {
    this.#notifySoon()
  }

  /** Asks the connection's only client; undefined if it has none or several. */
  async list(upstream: Upstream, ask: Ask, isOn: UsesConnection): Promise<ListedRoots | undefined> {
    const of = (await this.findClient(upstream, isOn)) ?? (await this.#waitForClient(upstream, isOn))
    return of === undefined ? undefined : { session: of, reply: await this.#ask(of, ask) }
  }

  /** Finds the connection's client whose roots a server may read outside a call. */
  async findClient(upstream: Upstream, isOn: UsesConnection): Promise<Session | undefined> {
    const node = this.#findNode(upstream)
    if (node === undefined || !this.#mayNotify(isOn)) return undefined
    const candidates = [...this.#sessions].filter(session => isOn?.(session) !== false)
    const seeing = await Promise.all(candidates.map(session => canSeeUpstream(this.#graph(), session, node)))
    const [only, second] = candidates.filter((_, index) => seeing[index])
    return only !== undefined && second === undefined && this.#canAsk(only) ? only : undefined
  }

  /** True if the calling client is the only one on a connection and accepts requests outside its calls. */
  isOnly(upstream: Upstream, session: Session, isOn: UsesConnection): boolean {
    const node = this.#findNode(upstream)
    const client = getBaseSession(session)
    if (node === undefined || !this.#mayNotify(isOn) || !this.#canAsk(client)) return false
    const isOther = (one: Session): boolean =>
      one !== client && isOn?.(one) !== false && isVisible(one, node, this.#graph())
    return this.#sessions.has(client) && ![...this.#sessions].some(isOther)
  }

  /** A server caches the roots that it received, so notify a shared connection only if no second client can join. */
  #mayNotify(isOn: UsesConnection): boolean {
    const { listeners } = this.#graph().config
    return isOn !== undefined || Object.values(listeners).every(({ type }) => type === 'stdio')
  }

  /** A server that starts with the gateway may ask before the only client has initialized. */
  async #waitForClient(upstream: Upstream, isOn: UsesConnection): Promise<Session | undefined> {
    const isAwaited = ![...this.#sessions].some(session => this.#ready.has(session))
    if (isOn !== undefined || !isAwaited || !this.#mayNotify(isOn)) return undefined
    const hasCome = await settlesWithin(this.#graph().clock, MAX_ARRIVAL_MS, this.#arrivals.promise)
    return hasCome ? this.findClient(upstream, isOn) : undefined
  }

  #canAsk(session: Session): boolean {
    return (
      session.ask !== undefined &&
      this.#ready.has(session) &&
      findMissingCapabilities(normalizeCapabilities(session.client), 'roots/list', undefined) === undefined
    )
  }

  /** Finds the node; undefined if a reload has replaced the upstream. */
  #findNode(upstream: Upstream): UpstreamNode | undefined {
    const node = this.#graph().upstreams.get(upstream.name)
    return node !== undefined && getLiveUpstream(node.upstream) === upstream ? node : undefined
  }

  #ask(session: Session, ask: Ask): Promise<AskReply> {
    let reply = this.#asking.get(session)
    if (reply === undefined) {
      const own = this.#askWithDeadline(session, ask).finally(() => {
        if (this.#asking.get(session) === own) this.#asking.delete(session)
      })
      reply = own
      this.#asking.set(session, own)
    }
    return reply
  }

  async #askWithDeadline(session: Session, { method }: Ask): Promise<AskReply> {
    const graph = this.#graph()
    const exchange = graph.exchange(session, {
      method,
      params: undefined,
      emit: () => undefined,
      ...(session.ask === undefined ? {} : { ask: ask => session.ask?.(ask) ?? Promise.resolve(TIMED_OUT) }),
    })
    let takeBack: (reason: string) => void = () => undefined
    const own: Ask = { method, params: undefined, onCancel: listener => (takeBack = listener) }
    const reply = exchange.ask(own)
    if (await settlesWithin(graph.clock, MAX_ANSWER_MS, reply)) return reply
    takeBack(TIMED_OUT.error.message)
    return TIMED_OUT
  }

  #notifySoon(): void {
    if (this.#isNotifying) return
    this.#isNotifying = true
    this.#graph().clock.after(COALESCE_MS, () => {
      this.#isNotifying = false
      const changed = [...this.#changed]
      this.#changed.clear()
      for (const { upstream } of this.#graph().upstreams.values()) upstream.onRootsChange?.(changed)
    })
  }
}

/** Creates one upstream's access to client roots; yields nothing before the upstream and the gateway exist. */
export function fetchRoots(
  upstream: () => Upstream | undefined,
  all: () => ClientRoots | undefined,
): ClientRootsProvider {
  return {
    list: async (ask, isOn) => {
      const own = upstream()
      return own && all()?.list(own, ask, isOn)
    },
    isOnly: (session, isOn) => {
      const own = upstream()
      return own !== undefined && all()?.isOnly(own, session, isOn) === true
    },
    findClient: async isOn => {
      const own = upstream()
      return own && all()?.findClient(own, isOn)
    },
  }
}

const TIMED_OUT = {
  error: rpcError(RPC.internal, `the client did not list its roots within ${MAX_ANSWER_MS / 1000} s`),
}

async function canSeeUpstream(graph: Graph, session: Session, node: UpstreamNode): Promise<boolean> {
  return isVisible(session, node, graph) || (await listVisibleUpstreams(graph, session)).includes(node)
}
