import type { Call, Notification, Session, UpstreamContext } from '../api/index.ts'
import { countOwnLists } from '../api/upstream.ts'
import { LIST_CHANGES } from '../protocol/methods.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'
import type { McpUpstreamConfig } from './transport.ts'

interface ListAudience {
  readonly connection: Connection
  readonly key: string
  /** Pool key for the sessions that received them; undefined before the first. */
  poolKey: string | undefined
  isMeant(session: Session): boolean
}

interface ConnectionListsDeps {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
  /** Pool key for a session; undefined on the main connection, or while unknown. */
  findPoolKey(session: Session): string | undefined
  getByKey(poolKey: string | undefined): Supervisor | undefined
  /** False while the main connection is down; pool keys are unknown then. */
  hasPoolKeys(): boolean
}

/**
 * Lists from connections other than the main one, for servers that reported a changed list there. A process's lists may
 * depend on earlier calls, so from then on they are its own. All other connections use the main one's lists.
 */
export class ConnectionLists {
  readonly #owner: ConnectionListsDeps
  readonly #own = new Map<Supervisor, ListAudience>()

  constructor(owner: ConnectionListsDeps) {
    this.#owner = owner
  }

  /**
   * Notifies the sessions of this supervisor's connection of a changed list. Shared network connections reach the
   * same server, whose lists are equal everywhere.
   */
  handleListChange(supervisor: Supervisor, { method, params }: Notification): void {
    const { spec, context } = this.#owner
    if (spec.type !== 'stdio' && spec.isolation === 'shared') return context.notify({ method, params })
    const { isMeant } = this.#findAudience(supervisor)
    context.notify({ method, params, isForOwnLists: true }, isMeant)
  }

  #findAudience(supervisor: Supervisor): Pick<ListAudience, 'isMeant'> {
    const { connection } = supervisor
    const existing = this.#own.get(supervisor)
    if (existing !== undefined && existing.connection === connection) return existing
    const isMeant = (session: Session): boolean => this.#findByPoolKey(session) === supervisor
    // A new process has no lists before it is ready; it uses the main one's.
    if (connection === undefined) return { isMeant }
    const own: ListAudience = { connection, key: String(countOwnLists()), poolKey: undefined, isMeant }
    this.#own.set(supervisor, own)
    return own
  }

  /** Key for a session's lists; undefined for the main connection's. */
  getListKey(session: Session): string | undefined {
    return this.#own.size === 0 ? undefined : this.#findOwnLists(session)?.key
  }

  /** Returns the ready connection for a list, unless that is the main one. */
  findConnection({ listKey, exchange }: Call): Connection | undefined {
    if (listKey === undefined) return undefined
    const own = this.#findOwnLists(exchange.session)
    return own?.key === listKey ? own.connection : undefined
  }

  /** A connection is ready or closed. A new process starts with the main one's lists. */
  handleConnectionChange(supervisor: Supervisor): void {
    const own = this.#own.get(supervisor)
    if (own === undefined || own.connection === supervisor.connection) return
    this.#own.delete(supervisor)
    const { poolKey } = own
    if (poolKey === undefined) return
    const { context, findPoolKey, hasPoolKeys } = this.#owner
    const isMeant = (session: Session): boolean => !hasPoolKeys() || findPoolKey(session) === poolKey
    for (const method of LIST_CHANGES) context.notify({ method, params: undefined, isForOwnLists: true }, isMeant)
  }

  #findOwnLists(session: Session): ListAudience | undefined {
    const poolKey = this.#owner.findPoolKey(session)
    const supervisor = this.#owner.getByKey(poolKey)
    const own = supervisor && this.#own.get(supervisor)
    if (own === undefined || own.connection !== supervisor?.connection) return undefined
    own.poolKey = poolKey
    return own
  }

  #findByPoolKey(session: Session): Supervisor | undefined {
    return this.#owner.getByKey(this.#owner.findPoolKey(session))
  }
}
