import type { Call, Notification, Session, UpstreamContext } from '../api/index.ts'
import { countOwnLists } from '../api/upstream.ts'
import { LIST_CHANGES } from '../protocol/methods.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'
import type { McpUpstreamConfig } from './transport.ts'

/** Lists of one connection. */
interface ConnectionLists {
  readonly connection: Connection
  readonly key: string
  /** Place of the sessions that were shown them; undefined before the first. */
  poolKey: string | undefined
  isMeant(session: Session): boolean
}

/** The upstream of some connections, and the places of sessions among these. */
interface OwnListsDeps {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
  /** Place of a session beside the main connection; undefined for who takes that, and while nobody knows. */
  placeOf(session: Session): string | undefined
  at(place: string | undefined): Supervisor | undefined
  /** False while the main connection is away, without which no place is known. */
  knowsPlaces(): boolean
}

/**
 * Lists of connections beside the main one whose server said that a list is another one now. What a process lists may
 * follow from what was called there, so its lists are its own from then on, for as long as it lives. All others are shown
 * those of the main connection.
 */
export class OwnLists {
  readonly #owner: OwnListsDeps
  readonly #own = new Map<Supervisor, ConnectionLists>()

  constructor(owner: OwnListsDeps) {
    this.#owner = owner
  }

  /**
   * The server on the connection of this supervisor says that a list is another one, which is told to those who use it.
   * Connections that many share over a network lead to one server, whose lists are the same on each.
   */
  handleListChange(supervisor: Supervisor, { method, params }: Notification): void {
    const { spec, context } = this.#owner
    if (spec.type !== 'stdio' && spec.isolation === 'shared') return context.notify({ method, params })
    const { isMeant } = this.#findAudience(supervisor)
    context.notify({ method, params, isForOwnLists: true }, isMeant)
  }

  #findAudience(supervisor: Supervisor): Pick<ConnectionLists, 'isMeant'> {
    const { connection } = supervisor
    const known = this.#own.get(supervisor)
    if (known !== undefined && known.connection === connection) return known
    const isMeant = (session: Session): boolean => this.#findByPoolKey(session) === supervisor
    // Before it is up a new process says nothing of its own: it lists what the main one does.
    if (connection === undefined) return { isMeant }
    const own: ConnectionLists = { connection, key: String(countOwnLists()), poolKey: undefined, isMeant }
    this.#own.set(supervisor, own)
    return own
  }

  /** Key of the lists that a session is shown; undefined for those of the main connection. */
  getListKey(session: Session): string | undefined {
    return this.#own.size === 0 ? undefined : this.#findOwnLists(session)?.key
  }

  /** The connection that a list is asked of, where that is one beside the main one that is up still. */
  findConnection({ listKey, exchange }: Call): Connection | undefined {
    if (listKey === undefined) return undefined
    const own = this.#findOwnLists(exchange.session)
    return own?.key === listKey ? own.connection : undefined
  }

  /** A connection beside the main one is up or gone. A new process lists what it does at first: what the main one does. */
  handleConnectionChange(supervisor: Supervisor): void {
    const own = this.#own.get(supervisor)
    if (own === undefined || own.connection === supervisor.connection) return
    this.#own.delete(supervisor)
    const { poolKey } = own
    if (poolKey === undefined) return
    const { context, placeOf, knowsPlaces } = this.#owner
    const isMeant = (session: Session): boolean => !knowsPlaces() || placeOf(session) === poolKey
    for (const method of LIST_CHANGES)
      context.notify({ method, params: undefined, isForOwnLists: true }, isMeant)
  }

  #findOwnLists(session: Session): ConnectionLists | undefined {
    const place = this.#owner.placeOf(session)
    const supervisor = this.#owner.at(place)
    const own = supervisor && this.#own.get(supervisor)
    if (own === undefined || own.connection !== supervisor?.connection) return undefined
    own.poolKey = place
    return own
  }

  #findByPoolKey(session: Session): Supervisor | undefined {
    return this.#owner.at(this.#owner.placeOf(session))
  }
}
