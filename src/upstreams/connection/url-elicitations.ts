import type { Exchange, Notification, Session } from '../../api/index.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'

/** Elicitations that may still be completed; the oldest are forgotten first. */
const MAX_OPEN = 1000

interface Asked {
  readonly session: Session
  /** The exchange by its number: it need not be kept alive until the user is done. */
  readonly exchange: number
}

/** Remembers which client was sent to a URL, so that it alone hears when its user is done there (2025-11-25). */
export class Elicitations {
  readonly #asked = new Map<string, Asked>()

  /** Notes an ask by URL, or one of the visits that an error asks for. */
  note(elicitation: JsonObject | undefined, { id, session }: Exchange): void {
    const known = elicitation?.elicitationId
    if (typeof known !== 'string') return
    const [oldest] = this.#asked.keys()
    if (this.#asked.size >= MAX_OPEN && oldest !== undefined) this.#asked.delete(oldest)
    this.#asked.set(known, { session, exchange: id })
  }

  /** The same, for the data of a "URL elicitation required" error. */
  noteAll(data: unknown, exchange: Exchange): void {
    const elicitations = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : []
    for (const elicitation of elicitations.slice(0, MAX_OPEN))
      if (isObject(elicitation)) this.note(elicitation, exchange)
  }

  /**
   * Tells who was asked: on the stream of its exchange while that is open, else beside it. False for an id of nobody.
   * The modern era has no such notification; its clients come back by themselves.
   */
  complete(notification: Notification, open: (exchange: number) => Exchange | undefined): boolean {
    const id = notification.params?.elicitationId
    const asked = typeof id === 'string' ? this.#asked.get(id) : undefined
    if (asked === undefined) return false
    this.#asked.delete(id as string)
    if (asked.session.client.era === 'modern') return true
    const exchange = open(asked.exchange)
    if (exchange === undefined) asked.session.notify(notification)
    else exchange.emit(notification)
    return true
  }
}
