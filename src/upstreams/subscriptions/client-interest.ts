import type { Answer, Call, Clock, Session, UpstreamContext } from '../../api/index.ts'
import { LOG_LEVELS } from '../../protocol/era/convert-to-modern.ts'
import { Payload } from '../../protocol/payload.ts'
import { settlesWithin } from '../../util/clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Supervisor } from '../supervisor.ts'
import type { FindOwnSupervisor } from './subscriptions.ts'
import { ResourceSubscriptions } from './subscriptions.ts'

/** Timeout for setting a session's log level before its call proceeds. */
const MAX_LEVEL_MS = 1000
export const SUBSCRIBE = 'resources/subscribe'
export const UNSUBSCRIBE = 'resources/unsubscribe'

/** Client subscriptions and log levels: combined, sent to the server once, and again on every new connection. */
export class ClientInterest {
  readonly #clock: Clock
  readonly #watches: ResourceSubscriptions
  readonly #levels = new LogLevels()

  constructor(context: UpstreamContext, findOwnSupervisor: FindOwnSupervisor) {
    this.#clock = context.clock
    this.#watches = new ResourceSubscriptions(context, findOwnSupervisor)
  }

  /** True if a client watches a resource, on any connection or on this supervisor's. */
  isWatched(supervisor?: Supervisor): boolean {
    return this.#watches.isWanted(supervisor)
  }

  /**
   * Returns a filter for the sessions that a resource change on this connection concerns; undefined for all
   * subscribers.
   */
  getAudience(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    return this.#watches.getAudience(supervisor)
  }

  /** Removes a subscription; needs no connection. */
  unsubscribe(call: Call): Promise<Answer> {
    return this.#watches.unsubscribe(call)
  }

  /** Sends a call on its connection, after the session's log level is set. */
  callServer(call: Call, connection: Connection): Promise<Answer> {
    const isModern = connection.server?.era === 'modern'
    if (call.method === SUBSCRIBE) return this.#watches.subscribe(call, connection)
    if (call.method === 'logging/setLevel')
      return isModern ? Promise.resolve({ result: Payload.of({}) }) : this.#levels.setLevel(call, connection)
    // A modern server gets the level with every request.
    const { session } = call.exchange
    const sent =
      isModern || session.client.logLevel === undefined ? undefined : this.#levels.applyLevel(session, connection)
    return sent === undefined ? connection.sendCall(call) : this.#afterLevelIsSet(sent, call, connection)
  }

  /** Follows the shared connection; undefined when it closed. */
  setMainConnection(connection: Connection | undefined): void {
    this.#watches.setMainConnection(connection)
    if (connection !== undefined) this.handleConnectionUp(connection)
  }

  /** A connection other than the shared one is ready or closed. */
  handleConnectionChange(supervisor: Supervisor): void {
    this.#watches.handleConnectionChange(supervisor)
  }

  handleConnectionUp(connection: Connection): void {
    void this.#levels.sendLevel(connection)
  }

  forgetSession(session: Session, connections: () => readonly Connection[]): void {
    this.#watches.forgetSession(session)
    const hadWanted = this.#levels.forgetSession(session.id)
    // A modern session may be one request, and the next would need the same level again.
    if (hadWanted && session.client.era === 'legacy')
      for (const connection of connections()) this.handleConnectionUp(connection)
  }

  stop(): void {
    this.#watches.stop()
  }

  async #afterLevelIsSet(sent: Promise<unknown>, call: Call, connection: Connection): Promise<Answer> {
    await settlesWithin(this.#clock, MAX_LEVEL_MS, sent)
    return connection.sendCall(call)
  }
}

/** A legacy server's log level: the most verbose that any session requested; others are filtered. */
class LogLevels {
  readonly #levels = new Map<string, number>()
  /** Session count per level. */
  readonly #counts = LOG_LEVELS.map(() => 0)
  readonly #sent = new WeakMap<Connection, number>()

  /** Handles `logging/setLevel` for one session. */
  async setLevel(call: Call, connection: Connection): Promise<Answer> {
    this.#setSessionLevel(call.exchange.session.id, call.params?.level)
    const loudest = this.#findLowestLevel()
    if (loudest === this.#sent.get(connection)) return { result: Payload.of({}) }
    call.params = { ...call.params, level: LOG_LEVELS[loudest] ?? call.params?.level }
    const answer = await connection.sendCall(call)
    if ('result' in answer) this.#sent.set(connection, loudest)
    return answer
  }

  /** Applies a session's level; returns undefined if the server already has it. */
  applyLevel({ id, client }: Session, connection: Connection): Promise<unknown> | undefined {
    this.#setSessionLevel(id, client.logLevel)
    return this.sendLevel(connection)
  }

  /** Sends the level unless the server has it. */
  sendLevel(connection: Connection): Promise<unknown> | undefined {
    const loudest = this.#findLowestLevel()
    const { era, capabilities } = connection.server ?? {}
    if (loudest < 0 || loudest === this.#sent.get(connection)) return undefined
    if (era !== 'legacy' || capabilities?.logging === undefined) return undefined
    this.#sent.set(connection, loudest)
    return connection.sendRequest('logging/setLevel', { level: LOG_LEVELS[loudest] }).catch(() => undefined)
  }

  /** Removes a closed session; returns true if it had requested a level. */
  forgetSession(session: string): boolean {
    const level = this.#levels.get(session)
    if (level === undefined) return false
    this.#levels.delete(session)
    this.#countLevel(level, -1)
    return true
  }

  #setSessionLevel(session: string, requested: unknown): void {
    const level = LOG_LEVELS.indexOf(requested as string)
    if (level < 0 || this.#levels.get(session) === level) return
    this.forgetSession(session)
    this.#levels.set(session, level)
    this.#countLevel(level, 1)
  }

  #countLevel(level: number, change: number): void {
    this.#counts[level] = (this.#counts[level] ?? 0) + change
  }

  #findLowestLevel(): number {
    return this.#counts.findIndex(count => count > 0)
  }
}
