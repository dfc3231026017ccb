import type { Answer, Call, Clock, Session, UpstreamContext } from '../../api/index.ts'
import { LOG_LEVELS } from '../../protocol/era/modern.ts'
import { Payload } from '../../protocol/payload.ts'
import { waitAtMost } from '../../util/clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Supervisor } from '../supervisor.ts'
import type { Home, OwnNews } from './subscriptions.ts'
import { Watches } from './subscriptions.ts'

/** The wait of a call until its server knows the log level that its client wants. */
const LEVEL_MS = 1000
export const SUBSCRIBE = 'resources/subscribe'
export const UNSUBSCRIBE = 'resources/unsubscribe'

/** The interest of clients in a server beside their answers: sent to it once for all of them, and again on every new connection. */
export class ClientInterest {
  readonly #clock: Clock
  readonly #watches: Watches
  readonly #levels = new LogLevels()

  /** `ownNews` takes what is said of lists of single connections; undefined where all of them list the same. */
  constructor(context: UpstreamContext, home: Home, ownNews?: OwnNews) {
    this.#clock = context.clock
    this.#watches = new Watches(context, home, ownNews)
  }

  /** Tells if a client watches a resource, on any connection or on the one of this supervisor. */
  arePending(supervisor?: Supervisor): boolean {
    return this.#watches.isWanted(supervisor)
  }

  /** The sessions that a change of a resource is for that came by the connection of this supervisor; undefined for all that want it. */
  audienceOf(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    return this.#watches.audienceOf(supervisor)
  }

  /** Ends a subscription, which needs no connection to be chosen. */
  unsubscribe(call: Call): Promise<Answer> {
    return this.#watches.remove(call)
  }

  /** Answers a call on its connection, once the server knows what is wanted. */
  answer(call: Call, connection: Connection): Promise<Answer> {
    const isModern = connection.server?.era === 'modern'
    if (call.method === SUBSCRIBE) return this.#watches.add(call, connection)
    if (call.method === 'logging/setLevel')
      return isModern ? Promise.resolve({ result: Payload.of({}) }) : this.#levels.set(call, connection)
    // A modern server gets the level with every request.
    const { session } = call.exchange
    const sent =
      isModern || session.client.logLevel === undefined ? undefined : this.#levels.heed(session, connection)
    return sent === undefined ? connection.call(call) : this.#afterwards(sent, call, connection)
  }

  /** The connection that all share is another one now; undefined when there is none. */
  follow(connection: Connection | undefined): void {
    this.#watches.follow(connection)
    if (connection !== undefined) this.opened(connection)
  }

  /** A connection beside the one that all share has come up or gone. */
  moved(supervisor: Supervisor): void {
    this.#watches.moved(supervisor)
  }

  /** A connection is up. */
  opened(connection: Connection): void {
    void this.#levels.tell(connection)
  }

  forget(session: Session, connections: () => readonly Connection[]): void {
    this.#watches.forget(session)
    const hadWanted = this.#levels.forget(session.id)
    // A modern session may be one request, and the next one would want the same again.
    if (hadWanted && session.client.era === 'legacy')
      for (const connection of connections()) this.opened(connection)
  }

  stop(): void {
    this.#watches.stop()
  }

  async #afterwards(sent: Promise<unknown>, call: Call, connection: Connection): Promise<Answer> {
    await waitAtMost(this.#clock, LEVEL_MS, sent)
    return connection.call(call)
  }
}

/** The log level that a legacy server is asked for: that of the session that wants most. The others' is cut on its way. */
class LogLevels {
  readonly #wanted = new Map<string, number>()
  /** The number of sessions that want each level. */
  readonly #counts = LOG_LEVELS.map(() => 0)
  readonly #sent = new WeakMap<Connection, number>()

  /** `logging/setLevel` of one session, as that of all. */
  async set(call: Call, connection: Connection): Promise<Answer> {
    this.#want(call.exchange.session.id, call.params?.level)
    const loudest = this.#loudest()
    if (loudest === this.#sent.get(connection)) return { result: Payload.of({}) }
    call.params = { ...call.params, level: LOG_LEVELS[loudest] ?? call.params?.level }
    const answer = await connection.call(call)
    if ('result' in answer) this.#sent.set(connection, loudest)
    return answer
  }

  /** Sees that a session gets what it wants; undefined when the server knows. */
  heed({ id, client }: Session, connection: Connection): Promise<unknown> | undefined {
    this.#want(id, client.logLevel)
    return this.tell(connection)
  }

  /** Sends a server what is wanted now, unless it knows. */
  tell(connection: Connection): Promise<unknown> | undefined {
    const loudest = this.#loudest()
    const { era, capabilities } = connection.server ?? {}
    if (loudest < 0 || loudest === this.#sent.get(connection)) return undefined
    if (era !== 'legacy' || capabilities?.logging === undefined) return undefined
    this.#sent.set(connection, loudest)
    return connection.ask('logging/setLevel', { level: LOG_LEVELS[loudest] }).catch(() => undefined)
  }

  /** The session has ended. True when it had wanted something. */
  forget(session: string): boolean {
    const level = this.#wanted.get(session)
    if (level === undefined) return false
    this.#wanted.delete(session)
    this.#count(level, -1)
    return true
  }

  #want(session: string, wanted: unknown): void {
    const level = LOG_LEVELS.indexOf(wanted as string)
    if (level < 0 || this.#wanted.get(session) === level) return
    this.forget(session)
    this.#wanted.set(session, level)
    this.#count(level, 1)
  }

  #count(level: number, change: number): void {
    this.#counts[level] = (this.#counts[level] ?? 0) + change
  }

  #loudest(): number {
    return this.#counts.findIndex(count => count > 0)
  }
}
