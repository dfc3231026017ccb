import type { Call, Session, UpstreamContext } from '../api/index.ts'
import { KINDS, LISTS, METHODS } from '../protocol/methods.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'
import type { McpUpstreamConfig } from './transport.ts'

/** Changes of each list there is. */
const ALL_CHANGED = [...new Set(KINDS.map(kind => LISTS[kind].changed))]

/** The upstream of some connections. */
interface Owner {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
}

/**
 * Lists of connections beside the main one whose server said that a list is another one now. What a process lists may
 * follow from what was called there, so its lists are its own from then on; all others are shown those of the main
 * connection.
 */
export class OwnLists {
  readonly #owner: Owner
  readonly #supervisorOf: (session: Session) => Supervisor | undefined
  readonly #keys = new WeakMap<Supervisor, string>()
  #count = 0

  /** `supervisorOf` finds the supervisor whose connection the calls of a session take; undefined for the main one. */
  constructor(owner: Owner, supervisorOf: (session: Session) => Supervisor | undefined) {
    this.#owner = owner
    this.#supervisorOf = supervisorOf
  }

  /**
   * The server on the connection of this supervisor says that a list is another one. Connections that many share over a
   * network lead to one server, whose lists are the same on each of them.
   */
  changed(supervisor: Supervisor): void {
    const { type, isolation } = this.#owner.spec
    const isApart = type === 'stdio' || isolation !== 'shared'
    if (isApart && !this.#keys.has(supervisor)) this.#keys.set(supervisor, String(++this.#count))
  }

  /** Key of the lists that a session is shown; undefined for those of the main connection. */
  of(session: Session): string | undefined {
    const supervisor = this.#count === 0 ? undefined : this.#supervisorOf(session)
    return supervisor && this.#keys.get(supervisor)
  }

  /** The connection of a call for a list, where that is one beside the main one. While it is away the main one stands in. */
  connectionFor({ method, exchange }: Call): Connection | undefined {
    if (this.#count === 0 || METHODS.get(method)?.to !== 'list') return undefined
    const supervisor = this.#supervisorOf(exchange.session)
    return supervisor && this.#keys.has(supervisor) ? supervisor.connection : undefined
  }

  /** A connection beside the main one is up or gone. A new process lists what it does at first; without one the lists are the main one's. */
  moved(supervisor: Supervisor): void {
    if (!this.#keys.has(supervisor)) return
    for (const method of ALL_CHANGED) this.#owner.context.notify({ method, params: undefined })
  }
}
