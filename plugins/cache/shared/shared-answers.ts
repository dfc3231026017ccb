import type { Clock, SharedStore } from '../../../src/plugin.ts'
import type { Entry } from '../store.ts'
import { Gate, within } from './gate.ts'
import { ageOf, type Moment, recordIn, type SharedRecord, textOf } from './record.ts'
import { Versions } from './versions.ts'

/** Answers on their way to the store: beyond these, one more is not shared. */
const MOST_WRITES = 64
/** Characters of a sealed answer: a store keeps no longer values. */
const MOST_SEALED = 256 * 1024

/** Counts of what was asked of the store for one upstream. */
export interface SharedCounters {
  /** Answered by what another replica had asked for. */
  hits: number
  misses: number
  /** Given to the others. */
  writes: number
  /** Neither asked nor told, as the store was away, late, or had enough to do. */
  away: number
  /** Entries of the store that no replica has made. */
  refused: number
}

/** Bounds of one configuration. */
export interface SharedBounds {
  /** Longest wait for the store, in milliseconds. */
  readonly waitMs: number
  /** Largest answer that is shared, in bytes. */
  readonly maxEntry: number
}

/** Question to the store: what it is about, and the names that its answer may have. */
export interface SharedQuestion {
  readonly scope: string
  /** Configuration and rule that the answer is one of. */
  readonly made: string
  readonly keys: readonly string[]
  readonly counters: SharedCounters
  readonly bounds: SharedBounds
}

/** Place of an answer in the store, as it was when somebody looked. */
interface Place {
  readonly key: string
  readonly name: string
  readonly moment: Moment
  readonly found: { readonly record: SharedRecord; readonly ageMs: number } | undefined
}

/** Places of the answers to a question, under the version that held then. */
export interface Places {
  readonly question: SharedQuestion
  readonly all: readonly Place[]
}

/** Answers that replicas share: sealed, under names that say nothing, and out of reach as soon as their version is another. */
export class SharedAnswers {
  readonly versions: Versions
  readonly #store: SharedStore
  readonly #clock: Clock
  readonly #gate: Gate
  /** Times of this process before which what a server has said is in doubt. */
  readonly #doubted = new Map<string, number>()
  #writes = 0

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#gate = new Gate(clock)
    this.versions = new Versions(store, clock)
  }

  /** False while nobody waits for it. */
  get isUp(): boolean {
    return this.#store.isUp && !this.#gate.isShut
  }

  /** Name of a text that says nothing of it. */
  digest(text: string): string {
    return this.#store.digest(text)
  }

  /** Takes all answers that this server has given until now out of use, whoever has asked for them. */
  doubt(upstream: string): void {
    this.#doubted.set(upstream, this.#clock.now())
  }

  /** The first connection of this process is no reason to doubt what others have heard. */
  connected(upstream: string): void {
    this.#doubted.set(upstream, this.#doubted.has(upstream) ? this.#clock.now() : -Infinity)
  }

  isDoubted(upstream: string, storedAt: number): boolean {
    return storedAt < (this.#doubted.get(upstream) ?? -Infinity)
  }

  /** Places of the answers to a question, and what lies there. Undefined where the store does not say so soon. */
  async look(question: SharedQuestion): Promise<Places | undefined> {
    const { scope, counters, bounds } = question
    if (this.versions.isOwed(scope) || !this.#gate.enter()) {
      counters.away++
      this.#probe(scope, bounds)
      return undefined
    }
    try {
      const places = await within(bounds.waitMs, this.#clock, this.#look(question))
      this.#gate.answered()
      return places
    } catch {
      this.#gate.failed()
      counters.away++
      return undefined
    }
  }

  /** Gives an answer to the others, off the road. It was asked for after its places were looked at: what came between makes it useless. */
  give(entry: Entry, { question, all }: Places): void {
    const place = all.find(({ key }) => key === entry.key)
    const { bounds, counters } = question
    if (place === undefined || entry.payload.bytes().length > bounds.maxEntry) return
    if (this.#writes >= MOST_WRITES || this.#gate.isShut) {
      counters.away++
      return
    }
    this.#writes++
    this.#clock.after(0, () => {
      void this.#give(entry, place)
        .then(
          isGiven => (counters.writes += isGiven ? 1 : 0),
          () => void counters.away++,
        )
        .finally(() => this.#writes--)
    })
  }

  async #give(entry: Entry, { name, moment }: Place): Promise<boolean> {
    const made = textOf(entry, moment)
    if (made === undefined) return false
    const sealed = this.#store.seal(made.text, name)
    return sealed.length <= MOST_SEALED && this.#store.put(name, sealed, { ms: made.ms })
  }

  /** The version and the answers are asked for at once, as the version is seldom another one. */
  async #look(question: SharedQuestion): Promise<Places | undefined> {
    const { scope } = question
    const known = this.versions.known(scope)
    const [version, early] = await Promise.all([
      this.versions.read(scope),
      known === undefined ? undefined : this.#under(known, question),
    ])
    if (version === undefined) return undefined
    const all = version === known && early !== undefined ? early : await this.#under(version, question)
    return { question, all }
  }

  #under(version: string, { scope, made, keys, counters }: SharedQuestion): Promise<Place[]> {
    return Promise.all(
      keys.map(async key => {
        const name = `answer ${this.#store.digest(JSON.stringify([scope, made, version, key]))}`
        const asked = this.#clock.now()
        const { value, now } = await this.#store.look(name)
        const record = value === undefined ? undefined : this.#opened(value, name)
        if (value !== undefined && record === undefined) counters.refused++
        const ageMs = record === undefined ? undefined : ageOf(record, now)
        // An answer counts as rather older than younger where the way to the store took long.
        const since = ageMs === undefined ? undefined : ageMs + this.#clock.now() - asked
        return {
          ...{ key, name, moment: { store: now, here: this.#clock.now() } },
          found: record === undefined || since === undefined ? undefined : { record, ageMs: since },
        }
      }),
    )
  }

  #opened(sealed: string, name: string): SharedRecord | undefined {
    const text = sealed.length > MOST_SEALED ? undefined : this.#store.open(sealed, name)
    return text === undefined ? undefined : recordIn(text)
  }

  /** Finds out whether the store is back, once a second, and lets nobody wait for it. */
  #probe(scope: string, { waitMs }: SharedBounds): void {
    if (!this.#gate.isDue) return
    within(waitMs, this.#clock, this.versions.read(scope)).then(
      () => this.#gate.open(),
      () => undefined,
    )
  }
}
