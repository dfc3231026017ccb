import type { Answer, Call, Clock, Session, UpstreamContext } from '../../api/index.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Link } from '../connection/connection.ts'
import { LogLevels } from './log-levels.ts'
import type { Supervisor } from '../supervisor.ts'
import { Watches, type Home } from './subscriptions.ts'
import { within } from '../../util/within.ts'

/** How long a call waits until its server has heard how much log its client wants. */
const LEVEL_MS = 1000
export const SUBSCRIBE = 'resources/subscribe'
export const UNSUBSCRIBE = 'resources/unsubscribe'

/** What clients wish to hear of a server beside their answers: told to it once for all of them, and again on every new link. */
export class ClientInterest {
  readonly #clock: Clock
  readonly #watches: Watches
  readonly #levels = new LogLevels()

  constructor(context: UpstreamContext, home: Home) {
    this.#clock = context.clock
    this.#watches = new Watches(context, home)
  }

  /** Whether somebody waits for what the server says of a resource, on any link or on the one of this supervisor. */
  arePending(supervisor?: Supervisor): boolean {
    return this.#watches.isWanted(supervisor)
  }

  /** Whom a change of a resource is told that came by the link of this supervisor; undefined for everybody who wants it. */
  audienceOf(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    return this.#watches.audienceOf(supervisor)
  }

  /** Takes back a wish, which needs no link to be chosen. */
  unsubscribe(call: Call): Promise<Answer> {
    return this.#watches.remove(call)
  }

  /** Answers a call on its link, once the server knows what is wished. */
  answer(call: Call, link: Link): Promise<Answer> {
    const isModern = link.server?.era === 'modern'
    if (call.method === SUBSCRIBE) return this.#watches.add(call, link)
    if (call.method === 'logging/setLevel')
      return isModern ? Promise.resolve({ result: Payload.of({}) }) : this.#levels.set(call, link)
    // A modern server is told the level with every request.
    const { session } = call.exchange
    const told =
      isModern || session.client.logLevel === undefined ? undefined : this.#levels.heed(session, link)
    return told === undefined ? link.call(call) : this.#afterwards(told, call, link)
  }

  /** The link that all share is another one now; undefined when there is none. */
  follow(link: Link | undefined): void {
    this.#watches.follow(link)
    if (link !== undefined) this.opened(link)
  }

  /** A link beside the one that all share has come up or gone. */
  moved(supervisor: Supervisor): void {
    this.#watches.moved(supervisor)
  }

  /** A link is up. */
  opened(link: Link): void {
    void this.#levels.tell(link)
  }

  forget(session: Session, links: readonly Link[]): void {
    this.#watches.forget(session)
    const hadWished = this.#levels.forget(session.id)
    // A modern session may be one request, and the next one would wish for the same again.
    if (hadWished && session.client.era === 'legacy') for (const link of links) this.opened(link)
  }

  stop(): void {
    this.#watches.stop()
  }

  async #afterwards(told: Promise<unknown>, call: Call, link: Link): Promise<Answer> {
    await within(this.#clock, LEVEL_MS, told)
    return link.call(call)
  }
}
