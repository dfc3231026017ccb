import { digestText, type SharedStore } from '../../../src/plugin.ts'

/** Longest time that a store keeps anything. */
export const LONGEST_MS = 366 * 86_400_000
/** Others that may change the list while one does. */
const MOST_TRIES = 100

/** A row in the list of all: its id, and a digest of whose it is. */
type Entry = readonly [id: string, share: string]

/** Bounds of the rows of one kind. */
interface Bounds {
  readonly max: number
  /** Rows of one caller. */
  readonly share: number
}

/** Sealed rows in a store that several processes may share, with a bound over all of them: the oldest of whoever has the most go. */
export class SharedRows {
  readonly #store: SharedStore
  readonly #kind: string
  readonly #bounds: Bounds

  constructor(store: SharedStore, kind: string, bounds: Bounds) {
    this.#store = store
    this.#kind = kind
    this.#bounds = bounds
  }

  /** @throws Error where too many others do the same. */
  async add(id: string, text: string, { ms, share }: { ms: number; share: string }): Promise<void> {
    const key = this.#keyOf(id)
    const within = Math.min(Math.max(Math.round(ms), 1), LONGEST_MS)
    await this.#store.put(key, this.#store.seal(text, key), { ms: within })
    if (await this.#change(entries => [...entries, [id, digestText(share)]])) return
    await this.#store.delete(key)
    throw new Error('too many do this at once: try again')
  }

  async get(id: string): Promise<string | undefined> {
    return this.#opened(id, await this.#store.get(this.#keyOf(id)))
  }

  /** Gets a row and removes it: of several that ask, one gets it. */
  async take(id: string): Promise<string | undefined> {
    const taken = await this.#store.take(this.#keyOf(id))
    if (taken !== undefined) await this.#leave(id)
    return this.#opened(id, taken)
  }

  async delete(id: string): Promise<void> {
    if (await this.#store.delete(this.#keyOf(id))) await this.#leave(id)
  }

  #opened(id: string, sealed: string | undefined): string | undefined {
    return sealed === undefined ? undefined : this.#store.open(sealed, this.#keyOf(id))
  }

  async #leave(id: string): Promise<void> {
    await this.#change(entries => entries.filter(([one]) => one !== id))
  }

  /** Changes the list of rows, and removes those for which there is no room; false where others were always faster. */
  async #change(change: (entries: readonly Entry[]) => readonly Entry[]): Promise<boolean> {
    const list = `${this.#kind}s`
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const before = await this.#store.get(list)
      const wanted = change(entriesIn(before))
      const kept = within(wanted, this.#bounds)
      const when = before === undefined ? ('absent' as const) : { is: before }
      if (!(await this.#store.put(list, JSON.stringify(kept), { ms: LONGEST_MS, when }))) continue
      const ended = wanted.filter(entry => !kept.includes(entry))
      await Promise.all(ended.map(([id]) => this.#store.delete(this.#keyOf(id))))
      return true
    }
    return false
  }

  #keyOf(id: string): string {
    return `${this.#kind} ${id}`
  }
}

/** The entries for which there is room. */
function within(entries: readonly Entry[], { max, share }: Bounds): readonly Entry[] {
  const kept = [...entries]
  for (;;) {
    const [largest, count] = largestOf(kept)
    if (count <= share && kept.length <= max) return kept
    kept.splice(
      kept.findIndex(([, of]) => of === largest),
      1,
    )
  }
}

function largestOf(entries: readonly Entry[]): readonly [share: string, count: number] {
  const counts = new Map<string, number>()
  for (const [, share] of entries) counts.set(share, (counts.get(share) ?? 0) + 1)
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0])
}

function entriesIn(text: string | undefined): Entry[] {
  return text === undefined ? [] : (JSON.parse(text) as Entry[])
}
