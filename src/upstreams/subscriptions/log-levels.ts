import type { Answer, Call, Session } from '../../api/index.ts'
import { LOG_LEVELS } from '../../protocol/era/modern.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Link } from '../connection/connection.ts'

/** How much log a legacy server is asked for: what the session wants that wants most. The others' is cut on its way. */
export class LogLevels {
  readonly #wanted = new Map<string, number>()
  /** How many sessions want each level. */
  readonly #counts = LOG_LEVELS.map(() => 0)
  readonly #told = new WeakMap<Link, number>()

  /** `logging/setLevel` of one session, as that of all. */
  async set(call: Call, link: Link): Promise<Answer> {
    this.#want(call.exchange.session.id, call.params?.level)
    const loudest = this.#loudest()
    if (loudest === this.#told.get(link)) return { result: Payload.of({}) }
    call.params = { ...call.params, level: LOG_LEVELS[loudest] ?? call.params?.level }
    const answer = await link.call(call)
    if ('result' in answer) this.#told.set(link, loudest)
    return answer
  }

  /** Sees that a session gets what it wants; undefined when there is nothing to be told. */
  heed({ id, client }: Session, link: Link): Promise<unknown> | undefined {
    this.#want(id, client.logLevel)
    return this.tell(link)
  }

  /** Tells a server what is wanted now, unless it knows. */
  tell(link: Link): Promise<unknown> | undefined {
    const loudest = this.#loudest()
    const { era, capabilities } = link.server ?? {}
    if (loudest < 0 || loudest === this.#told.get(link)) return undefined
    if (era !== 'legacy' || capabilities?.logging === undefined) return undefined
    this.#told.set(link, loudest)
    return link.ask('logging/setLevel', { level: LOG_LEVELS[loudest] }).catch(() => undefined)
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
