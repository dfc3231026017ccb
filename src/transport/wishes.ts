import type { Answer, Call, Clock, Session, UpstreamContext } from '../core/ports.ts'
import { Payload } from '../protocol/payload.ts'
import type { Link } from './link.ts'
import { LogLevels } from './log-levels.ts'
import { Watch } from './watch.ts'
import { within } from './within.ts'

/** How long a call waits until its server has heard how much log its client wants. */
const LEVEL_MS = 1000

/** What clients wish to hear of a server beside their answers: told to it once for all of them, and again on every new link. */
export class Wishes {
  readonly #clock: Clock
  readonly #watch: Watch
  readonly #levels = new LogLevels()

  constructor(context: UpstreamContext) {
    this.#clock = context.clock
    this.#watch = new Watch(context)
  }

  /** Whether somebody waits for what the server says of a resource. */
  get arePending(): boolean {
    return this.#watch.isWanted
  }

  /** Answers a call on its link, once the server knows what is wished. */
  answer(call: Call, link: Link): Promise<Answer> {
    const isModern = link.server?.era === 'modern'
    if (call.method === 'resources/subscribe') return this.#watch.add(call, link)
    if (call.method === 'resources/unsubscribe') return this.#watch.remove(call, link)
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
    this.#watch.follow(link)
    if (link !== undefined) this.opened(link)
  }

  /** A link is up. */
  opened(link: Link): void {
    void this.#levels.tell(link)
  }

  forget(session: Session, links: readonly Link[]): void {
    const hadWished = this.#levels.forget(session.id)
    // A modern session may be one request, and the next one would wish for the same again.
    if (hadWished && session.client.era === 'legacy') for (const link of links) this.opened(link)
  }

  stop(): void {
    this.#watch.stop()
  }

  async #afterwards(told: Promise<unknown>, call: Call, link: Link): Promise<Answer> {
    await within(this.#clock, LEVEL_MS, told)
    return link.call(call)
  }
}
