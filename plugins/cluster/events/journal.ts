import type { EventCopy, EventRecord, EventSource } from '../../../src/plugin.ts'

/** Entries of one session in Redis: more than the listener keeps events, as each open stream has one of its own. */
const MOST_ENTRIES = 512
/** Entries and bytes of messages in one command. */
const MOST_OF_BATCH = 64
const BATCH_BYTES = 64 * 1024
/** Entries to delete at which all is written anew instead. */
const MOST_GONE = 1024
/** Pause before what Redis has lost is written anew once more. */
const ANEW_MS = 30_000

/** Entries of one command. */
export interface Batch {
  readonly epoch: number
  readonly isAnew: boolean
  readonly gone: readonly string[]
  readonly events: readonly EventRecord[]
}

/** Journals that have something to write, and what becomes of it. */
export interface JournalEvents {
  now(): number
  isReady(journal: Journal): void
  /** An event was dropped before Redis had it. */
  isLost(): void
}

/**
 * Events of one session as Redis has them, and those that it is to have. It holds no message that the listener does not keep: what
 * is dropped there is dropped here.
 */
export class Journal implements EventCopy {
  readonly session: string
  source: EventSource | undefined
  isClosed = false
  /** True once something may have been written. */
  hasWritten = false
  readonly #says: JournalEvents
  readonly #waiting = new Map<number, EventRecord>()
  /** Ids in Redis, by number. */
  readonly #written = new Map<number, string>()
  readonly #gone = new Set<string>()
  #underWay: Batch | undefined
  #isAnew = false
  #anewAt = -Infinity
  #touchedAt = -Infinity
  /** Epoch of a later owner. */
  #fence = 0

  constructor(session: string, says: JournalEvents) {
    this.session = session
    this.#says = says
  }

  keep(event: EventRecord): void {
    this.#waiting.set(event.number, event)
    if (this.#waiting.size + this.#written.size > MOST_ENTRIES) this.#dropOldest()
    this.#says.isReady(this)
  }

  drop(number: number): void {
    const id = this.#written.get(number)
    if (id !== undefined) {
      this.#written.delete(number)
      this.#gone.add(id)
      this.#says.isReady(this)
    } else if (this.#waiting.delete(number) && !this.#isUnderWay(number)) this.#says.isLost()
  }

  #isUnderWay(number: number): boolean {
    return this.#underWay?.events.some(event => event.number === number) === true
  }

  #dropOldest(): void {
    const [oldest] = this.#written.size > 0 ? this.#written.keys() : this.#waiting.keys()
    if (oldest !== undefined) this.drop(oldest)
  }

  close(): void {
    this.isClosed = true
  }

  /** Notes an entry that another replica has written. */
  found(number: number, id: string): void {
    this.hasWritten = true
    const before = this.#written.get(number)
    if (before !== undefined) this.#gone.add(before)
    this.#written.set(number, id)
  }

  /** Notes an entry that nobody can read. */
  foundUnreadable(id: string): void {
    this.#gone.add(id)
  }

  /** Has all of it written again, as Redis lost some, or it is to be sealed with another key. */
  writeAgain(): void {
    if (this.hasWritten && !this.isClosed) this.#isAnew = true
  }

  /** Events that Redis does not have yet. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** True if there is something to write. */
  get hasMore(): boolean {
    return this.#waiting.size > 0 || this.#gone.size > 0 || this.#isAnew
  }

  /** True if Redis would forget soon what a client may still come back to. */
  mayRunOut(ms: number): boolean {
    const isQuiet = this.#written.size > 0 && this.#says.now() - this.#touchedAt > ms
    return isQuiet && !this.isClosed && this.source?.isAwaited === true
  }

  /** The entries of the next command, which may be none; undefined where nothing may be written now. */
  next(epoch: number): Batch | undefined {
    if (this.#underWay !== undefined || epoch < this.#fence) return undefined
    if (this.#gone.size > MOST_GONE) this.#isAnew = true
    const isAnew = this.#isAnew && this.#refill()
    this.#isAnew = false
    const batch = { epoch, isAnew, gone: [...this.#gone], events: this.#first() }
    this.#gone.clear()
    this.hasWritten = true
    return (this.#underWay = batch)
  }

  #refill(): boolean {
    if (this.isClosed || this.source === undefined) return false
    this.#waiting.clear()
    this.#written.clear()
    this.#gone.clear()
    for (const event of this.source.all()) this.#waiting.set(event.number, event)
    return true
  }

  #first(): EventRecord[] {
    const events: EventRecord[] = []
    let bytes = 0
    for (const event of this.#waiting.values()) {
      bytes += event.message?.length ?? 0
      if (events.length >= MOST_OF_BATCH || (events.length > 0 && bytes > BATCH_BYTES)) break
      events.push(event)
    }
    return events
  }

  /** Redis has the batch, and so many entries in all. */
  wrote({ epoch, events }: Batch, entries: number): void {
    this.#underWay = undefined
    this.#touchedAt = this.#says.now()
    for (const { number } of events)
      if (this.#waiting.delete(number)) this.#written.set(number, idOf(epoch, number))
      else this.#gone.add(idOf(epoch, number))
    const isShort = entries < this.#written.size
    if (!isShort || this.#touchedAt - this.#anewAt < ANEW_MS) return
    this.#anewAt = this.#touchedAt
    this.writeAgain()
  }

  /** Nobody knows whether Redis has the batch: it is written again. */
  failed({ epoch, events, gone, isAnew }: Batch): void {
    this.#underWay = undefined
    if (isAnew) this.#isAnew = true
    for (const id of gone) this.#gone.add(id)
    for (const { number } of events) if (!this.#waiting.has(number)) this.#gone.add(idOf(epoch, number))
  }

  /** A later owner has written: nothing of this one is, unless the session becomes its own again. */
  fence(epoch: number): void {
    this.#underWay = undefined
    this.#fence = epoch
    this.#gone.clear()
    this.#waiting.clear()
    this.#isAnew = true
  }
}

export function idOf(epoch: number, number: number): string {
  return `${epoch}-${number}`
}
