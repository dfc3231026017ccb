import { randomBytes } from 'node:crypto'
import type { Clock, SharedStore } from '../../../src/plugin.ts'

/** A version outlives all that is kept under it. */
const KEPT_MS = 30 * 86_400_000
const AGAIN_MS = 1000

/**
 * Versions of what replicas share, by what it is about. All that is kept has a version in its name, so that another version makes it
 * unreachable at once. A version is a number that grows and a random text: where the store has lost or evicted it, or came back with
 * an older one, nothing that was kept before is found by the next.
 */
export class Versions {
  readonly #store: SharedStore
  readonly #clock: Clock
  readonly #known = new Map<string, string>()
  readonly #owed = new Set<string>()
  readonly #underWay = new Set<string>()
  #flushing: Promise<void> | undefined
  #forget: () => void = () => undefined

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** The one that was read or made last. */
  known(scope: string): string | undefined {
    return this.#known.get(scope)
  }

  /** True while there must be another one, and the store does not have it yet. */
  isOwed(scope: string): boolean {
    return this.#owed.has(scope) || this.#underWay.has(scope)
  }

  /** The one that holds now; undefined where none can be relied on. */
  async read(scope: string): Promise<string | undefined> {
    const { value } = await this.#store.look(keyOf(scope))
    const version = this.#opened(scope, value ?? (await this.#first(scope)))
    if (this.isOwed(scope)) return undefined
    if (numberOf(version) < Math.max(1, numberOf(this.#known.get(scope)))) {
      // A version that no replica wrote, or after which the store has lost a newer one.
      this.outdate([scope])
      return undefined
    }
    this.#known.set(scope, version)
    return version
  }

  /** Begins another version: here at once, and for the others when the store has it. Goes on trying until it has. */
  outdate(scopes: Iterable<string>): void {
    for (const scope of scopes) this.#owed.add(scope)
    if (this.#owed.size > 0) void this.flush().catch(() => undefined)
  }

  /** The same for all that is known of, where the store has lost some of it. */
  outdateAll(): void {
    this.outdate(this.#known.keys())
  }

  /** Resolves when the store has all versions that are owed. Rejects where it cannot have them now. */
  flush(): Promise<void> {
    return (this.#flushing ??= this.#flush().finally(() => (this.#flushing = undefined)))
  }

  async #flush(): Promise<void> {
    this.#forget()
    while (this.#owed.size > 0) {
      const scopes = [...this.#owed]
      // One that comes again meanwhile needs another one again.
      this.#owed.clear()
      for (const scope of scopes) this.#underWay.add(scope)
      try {
        await Promise.all(scopes.map(scope => this.#replace(scope)))
      } catch (error) {
        for (const scope of scopes) this.#owed.add(scope)
        this.#forget = this.#clock.after(AGAIN_MS, () => void this.flush().catch(() => undefined))
        throw error
      } finally {
        this.#underWay.clear()
      }
    }
  }

  /** Whatever is there: of two that come at once one is left, and neither was there before. */
  async #replace(scope: string): Promise<void> {
    const { value } = await this.#store.look(keyOf(scope))
    const before = Math.max(numberOf(this.#opened(scope, value)), numberOf(this.#known.get(scope)))
    const next = nextOf(before)
    await this.#store.put(keyOf(scope), this.#store.seal(next, keyOf(scope)), { ms: KEPT_MS })
    this.#known.set(scope, next)
  }

  /** There is none: whoever is the first to say one has said it. */
  async #first(scope: string): Promise<string | undefined> {
    const sealed = this.#store.seal(nextOf(numberOf(this.#known.get(scope))), keyOf(scope))
    const isFirst = await this.#store.put(keyOf(scope), sealed, { ms: KEPT_MS, when: 'absent' })
    return isFirst ? sealed : (await this.#store.look(keyOf(scope))).value
  }

  #opened(scope: string, sealed: string | undefined): string {
    return (sealed === undefined ? undefined : this.#store.open(sealed, keyOf(scope))) ?? ''
  }
}

function keyOf(scope: string): string {
  return `version ${scope}`
}

function nextOf(number: number): string {
  return `${number + 1}.${randomBytes(12).toString('base64url')}`
}

/** 0 for what is no version: it comes before each. */
function numberOf(version = ''): number {
  return Number.parseInt(version, 10) || 0
}
