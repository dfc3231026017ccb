import {
  type Clock,
  type EventCopies,
  type EventCopy,
  type EventRecord,
  type EventSource,
  isObject,
} from '../../../src/plugin.ts'
import type { KeyRing } from '../key-ring.ts'
import type { Reply, Store } from '../store/store.ts'
import { type Batch, idOf, Journal, type JournalEvents } from './journal.ts'
import { FORGET_EVENTS, KEEP, TAKE_OVER } from './scripts.ts'

/** Time in milliseconds for which events outlive their owner. */
const LIFE_MS = 300_000
/** Time after which an owner says that they are still wanted. */
const QUIET_MS = 200_000
/** Bytes of a message: of a larger one Redis has no more than that there was one. */
const MOST_BYTES = 256 * 1024
/** Commands that wait for Redis at once: a large one is not to keep the others of this replica waiting. */
const MOST_UNDER_WAY = 8
/** Sessions whose events are still to be forgotten: those of others run out by themselves. */
const MOST_ENDED = 10_000

interface KeptEventsOptions {
  readonly name: string
  readonly store: Store
  readonly ring: KeyRing
  readonly clock: Pick<Clock, 'now'>
  /** Epoch of a session that this replica has, and others could go on with. */
  readonly epochOf: (session: string) => number | undefined
}

/**
 * Events of this replica's sessions in Redis, for the replica that goes on with one. Nobody waits for Redis: what cannot be
 * written now is written later, as long as the listener keeps it.
 */
export class KeptEvents implements EventCopies {
  /** Events that Redis was given. */
  written = 0
  /** Events that were dropped before Redis had them. */
  lost = 0
  /** Events of other replicas that this one went on with. */
  restored = 0
  readonly #options: KeptEventsOptions
  readonly #journals = new Map<string, Journal>()
  readonly #ready = new Set<Journal>()
  readonly #ended = new Set<string>()
  readonly #says: JournalEvents
  #underWay = 0
  /** True while Redis does not take what it is given. */
  #isPaused = false
  #isDue = false

  constructor(options: KeptEventsOptions) {
    this.#options = options
    this.#says = {
      now: () => options.clock.now(),
      isReady: journal => this.#isReady(journal),
      isLost: () => void this.lost++,
    }
  }

  copyOf(session: string, source: EventSource): EventCopy {
    const journal = this.#journalOf(session)
    journal.source = source
    return journal
  }

  /** The events of a session that this replica goes on with. None where Redis does not answer. */
  async take(session: string, epoch: number): Promise<readonly EventRecord[]> {
    this.drop(session)
    const { store } = this.#options
    const args = [String(epoch), String(LIFE_MS)]
    const reply = await store.run(TAKE_OVER, [this.#keyOf(session)], args).catch(() => [])
    const journal = this.#journalOf(session)
    const records = (Array.isArray(reply) ? (reply as Reply[]) : []).flatMap(entry =>
      this.#read(journal, entry),
    )
    this.restored += records.filter(({ message }) => message !== undefined).length
    return records
  }

  /** Forgets what is here of a session that another replica has. */
  drop(session: string): void {
    const journal = this.#journals.get(session)
    this.#journals.delete(session)
    if (journal !== undefined) this.#ready.delete(journal)
  }

  /** A session is over, for its client too. */
  end(session: string): void {
    const hasWritten = this.#journals.get(session)?.hasWritten === true
    this.drop(session)
    if (!hasWritten || this.#ended.size >= MOST_ENDED) return
    this.#ended.add(session)
    this.#soon()
  }

  /** Writes what could not be written, and says which events are still wanted. Called now and then, as Redis answers. */
  tend(): void {
    this.#isPaused = false
    for (const [session, journal] of this.#journals) {
      const isOver = journal.isClosed && !(journal.hasMore && this.#isOurs(session))
      if (isOver) this.drop(session)
      else if (journal.hasMore || journal.mayRunOut(QUIET_MS)) this.#ready.add(journal)
    }
    this.#writeSome()
  }

  #isOurs(session: string): boolean {
    return this.#options.epochOf(session) !== undefined
  }

  /** Has all written again, as it is to be sealed with another key. */
  writeAgain(): void {
    for (const journal of this.#journals.values()) journal.writeAgain()
  }

  /** Events that Redis does not have yet. */
  get waiting(): number {
    let waiting = 0
    for (const journal of this.#journals.values()) waiting += journal.waiting
    return waiting
  }

  #journalOf(session: string): Journal {
    const journal = this.#journals.get(session) ?? new Journal(session, this.#says)
    this.#journals.set(session, journal)
    return journal
  }

  #isReady(journal: Journal): void {
    this.#ready.add(journal)
    this.#soon()
  }

  /** Writes after what is under way now: events that come together go together. */
  #soon(): void {
    if (this.#isDue || this.#isPaused) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.#writeSome()
    })
  }

  #writeSome(): void {
    for (const journal of this.#ready) {
      if (this.#isPaused || this.#underWay >= MOST_UNDER_WAY) return
      this.#ready.delete(journal)
      const epoch = this.#options.epochOf(journal.session)
      const batch = epoch === undefined ? undefined : journal.next(epoch)
      if (batch !== undefined) void this.#write(journal, batch)
    }
    this.#forgetSome()
  }

  #forgetSome(): void {
    for (const session of this.#ended) {
      if (this.#isPaused || this.#underWay >= MOST_UNDER_WAY) return
      this.#ended.delete(session)
      void this.#forget(session)
    }
  }

  /** Deletes the events of a session, or has them run out where Redis does not answer. */
  async #forget(session: string): Promise<void> {
    this.#underWay++
    await this.#options.store.run(FORGET_EVENTS, [this.#keyOf(session)], []).catch(() => undefined)
    this.#underWay--
    this.#writeSome()
  }

  async #write(journal: Journal, batch: Batch): Promise<void> {
    this.#underWay++
    try {
      const { isAnew, gone, epoch, events } = batch
      const head = [String(epoch), String(LIFE_MS), isAnew ? 'anew' : '', String(gone.length)]
      const args = [...head, ...gone, ...events.flatMap(event => this.#entry(journal.session, epoch, event))]
      const reply = await this.#options.store.run(KEEP, [this.#keyOf(journal.session)], args)
      const [entries, later] = (Array.isArray(reply) ? (reply as Reply[]) : []).map(Number)
      if (entries === undefined || later === undefined) throw new Error('Redis did not say what it has')
      if (entries < 0) return journal.fence(later)
      journal.wrote(batch, entries)
      this.written += events.length
    } catch {
      journal.failed(batch)
      this.#isPaused = true
    } finally {
      this.#underWay--
      if (journal.hasMore && this.#journals.get(journal.session) === journal) this.#ready.add(journal)
      this.#writeSome()
    }
  }

  /** Id and text of an entry. */
  #entry(session: string, epoch: number, event: EventRecord): [string, string] {
    const { number, message, isLast, ...about } = event
    const id = idOf(epoch, number)
    const isTooLarge = message !== undefined && Buffer.byteLength(message) > MOST_BYTES
    const said = isTooLarge ? { isMissing: true } : { message: message?.toString() }
    const last = isLast === true ? { isLast } : {}
    return [id, this.#options.ring.seal('event', { ...about, ...last, ...said }, boundTo(session, id))]
  }

  #read(journal: Journal, entry: Reply): EventRecord[] {
    const [id, fields] = Array.isArray(entry) ? (entry as Reply[]) : []
    const [, sealed] = Array.isArray(fields) ? (fields as Reply[]) : []
    if (typeof id !== 'string' || typeof sealed !== 'string' || sealed === '') return []
    const opened = this.#options.ring.open('event', sealed, boundTo(journal.session, id))
    const number = Number(id.slice(id.indexOf('-') + 1))
    if (!isObject(opened) || typeof opened.stream !== 'string') {
      journal.foundUnreadable(id)
      return []
    }
    journal.found(number, id)
    const { message } = opened
    const bytes = typeof message === 'string' ? Buffer.from(message) : undefined
    return [{ ...(opened as unknown as EventRecord), number, message: bytes }]
  }

  #keyOf(session: string): string {
    return `tg:${this.#options.name}:e:${session}`
  }
}

/** An entry is worth nothing at another place, or in another session. */
function boundTo(session: string, id: string): string {
  return `${session} ${id}`
}
