import { type Clock, CountedTopic, isObject, type Missed, type SharedStore } from '../../src/plugin.ts'

const TOPIC = 'outdated'
const AGAIN_MS = 1000
/** Pieces that wait to be told; beyond, all there is counts as outdated. */
const MOST_OWED = 200

/** Answers that are outdated: as the owner selects them, or as a tool's rule says. */
export type Outdated =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly purge: string; readonly upstream?: string | undefined }

const ALL: Outdated = { params: { all: true } }

/**
 * Caches of the other processes that are this gateway: they are told what is outdated, and tell of it. Where one may have missed
 * something, all that it keeps is outdated.
 */
export class OtherCaches {
  readonly #topic: CountedTopic
  readonly #clock: Clock
  readonly #owed = new Set<string>()
  #telling: Promise<void> | undefined
  #forget: () => void = () => undefined
  #heard: (outdated: Outdated, missed?: Missed) => void = () => undefined
  #first: () => Promise<void> = () => Promise.resolve()
  #users = 0

  constructor(store: SharedStore, clock: Clock) {
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      heard: text => {
        for (const one of outdatedIn(text)) this.#heard(one)
      },
      missed: how => {
        if (how !== 'first') this.#heard(ALL, how)
      },
    })
  }

  /** The cache of the generation that runs now. `first` is done before others are told: they may ask again at once. */
  start(heard: (outdated: Outdated, missed?: Missed) => void, first = this.#first): void {
    this.#heard = heard
    this.#first = first
    if (this.#users++ === 0) this.#topic.start()
  }

  /** Ends with the last generation that uses it. */
  stop(): void {
    if (--this.#users > 0) return
    this.#forget()
    this.#topic.stop()
  }

  /** Tells the others, and goes on trying until it has. Rejects where they cannot be told now. */
  tell(outdated: Outdated): Promise<void> {
    if (this.#owed.size < MOST_OWED) this.#owed.add(JSON.stringify(outdated))
    else this.#owed.clear()
    if (this.#owed.size === 0) this.#owed.add(JSON.stringify(ALL))
    return this.#once()
  }

  #once(): Promise<void> {
    return (this.#telling ??= this.#tell().finally(() => (this.#telling = undefined)))
  }

  /** Says all there is at once, as many calls may make something outdated. */
  async #tell(): Promise<void> {
    this.#forget()
    while (this.#owed.size > 0) {
      const pieces = [...this.#owed]
      // One that comes again meanwhile is told again.
      this.#owed.clear()
      try {
        await this.#first()
        await this.#topic.tell(`[${pieces.join(',')}]`)
      } catch (error) {
        for (const piece of pieces) this.#owed.add(piece)
        this.#forget = this.#clock.after(AGAIN_MS, () => void this.#once().catch(() => undefined))
        throw error
      }
    }
  }
}

/** Pieces as other processes of the gateway tell them. */
function outdatedIn(text: string): Outdated[] {
  const said: unknown = JSON.parse(text)
  const list: unknown[] = Array.isArray(said) ? said : []
  return list
    .filter(isObject)
    .filter(one => isObject(one.params) || typeof one.purge === 'string') as unknown as Outdated[]
}
