import type { Clock, JsonObject, Log, SharedStore } from '../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../src/plugin.ts'
import type { Decision, Decisions, OpenCall, WaitingCalls } from './waiting-calls.ts'

const DECIDED = 'decided'
/** A decision of another replica is found after so long, were its word of it lost. */
const LOOK_MS = 1000
/** A decision is remembered longer than its call waits, so that there is never a second one. */
const AFTER_MS = 60_000
/** Characters of the list of one replica: beyond, calls are listed without their arguments. */
const MAX_CHARACTERS = 150_000
const PLACES = 'places'
const PLACES_MS = 86_400_000
const MAX_PLACES = 1000
const MAX_ATTEMPTS = 30

/** Outcomes that let nothing run: they hold though nobody can be told of them. */
const REFUSES: ReadonlySet<string> = new Set(['expired', 'cancelled', 'unavailable'])

interface ApprovalDeps {
  readonly store: SharedStore
  readonly clock: Clock
  readonly log: Log
  /** Name of this replica. */
  place(): string
  /** A call as it is listed. */
  rowOf(call: OpenCall): JsonObject
}

/**
 * Calls that wait at any replica, and decisions on them. A decision is one value that is written once for all: whoever comes second
 * has decided nothing. The replica that has the call takes it from there, so that nobody need reach that one.
 */
export class AcrossReplicas implements Decisions {
  readonly #means: ApprovalDeps
  readonly #waiting: WaitingCalls
  readonly #place: string
  #ending: (() => void) | undefined
  #forget: () => void = () => undefined
  #writing: Promise<void> | undefined
  #isStale = false
  #isKnown = false
  /** The store may have lost the calls that wait here. */
  #isLost = false

  constructor(means: ApprovalDeps, waiting: WaitingCalls) {
    this.#means = means
    this.#waiting = waiting
    this.#place = means.place()
  }

  /** Lets all replicas know of a call that waits here. Rejects where that cannot be. */
  async show({ id, until }: OpenCall): Promise<void> {
    const { store } = this.#means
    this.#ending ??= store.subscribe(
      DECIDED,
      decided => void this.#take(decided),
      () => void this.#showAgain(),
    )
    await store.put(callKey(id), this.#place, { ms: lifeOf(until) })
    await this.#list()
    this.#watch()
  }

  /** Redis was away, and may have lost what was there. */
  async #showAgain(): Promise<void> {
    this.#isKnown = false
    this.#isLost = true
    this.#takeAll()
    const { store } = this.#means
    try {
      for (const { id, until } of this.#waiting.calls)
        await store.put(callKey(id), this.#place, { ms: lifeOf(until) })
      if (this.#waiting.calls.length > 0) await this.#list()
      this.#isLost = false
    } catch {
      // The calls that wait are told again a moment later.
    }
  }

  /** The call waits no longer. */
  hide(id: string): void {
    void this.#means.store.delete(callKey(id)).catch(() => undefined)
    void this.#list().catch(() => undefined)
  }

  async decide(id: string, decision: Decision): Promise<boolean> {
    const isHere = this.#waiting.has(id)
    try {
      if (!(await this.#isFirst(id, decision, isHere))) {
        if (isHere) await this.#take(id)
        return REFUSES.has(decision.outcome) && this.#waiting.decide(id, decision)
      }
    } catch (error) {
      if (!isHere || !REFUSES.has(decision.outcome)) throw error
    }
    if (isHere) return this.#waiting.decide(id, decision)
    await this.#means.store.publish(DECIDED, id).catch(() => undefined)
    return true
  }

  /** The calls that wait at all replicas; where the others cannot be asked, those of this one, and why. */
  async list(): Promise<{ readonly approvals: readonly JsonObject[]; readonly missing?: string }> {
    const own = this.#waiting.calls.map(call => this.#rowOf(call))
    try {
      const places = (await this.#places()).filter(place => place !== this.#place)
      const lists = await Promise.all(places.map(place => this.#rowsAt(place)))
      return { approvals: [...own, ...lists.flat()] }
    } catch (error) {
      return { approvals: own, missing: getErrorMessage(error) }
    }
  }

  /** Writes a decision where there is none. */
  async #isFirst(id: string, decision: Decision, isHere: boolean): Promise<boolean> {
    const { store } = this.#means
    if (!isHere && (await store.get(callKey(id))) === undefined) return false
    const key = decisionKey(id)
    const until = this.#waiting.untilOf(id) ?? Date.now() + 10 * AFTER_MS
    return store.put(key, store.seal(JSON.stringify(decision), key), { ms: lifeOf(until), when: 'absent' })
  }

  /** Uses a decision that another replica has written; one that no replica has written is none. */
  async #take(id: string): Promise<void> {
    if (!this.#waiting.has(id)) return
    const { store, log } = this.#means
    try {
      const key = decisionKey(id)
      const sealed = await store.get(key)
      if (sealed === undefined) return
      const text = store.open(sealed, key)
      if (text === undefined) return log.warn('a decision was not made by a replica of this gateway', { id })
      this.#waiting.decide(id, JSON.parse(text) as Decision)
    } catch {
      // It is looked for again.
    }
  }

  #takeAll(): void {
    for (const { id } of this.#waiting.calls) void this.#take(id)
  }

  #watch(): void {
    this.#forget()
    this.#forget = this.#means.clock.after(LOOK_MS, () => {
      if (this.#waiting.calls.length === 0) return
      if (this.#isLost) void this.#showAgain()
      else this.#takeAll()
      this.#watch()
    })
  }

  /** Writes the list of this replica: one write after another, and the last one has all. */
  #list(): Promise<void> {
    this.#isStale = true
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  async #write(): Promise<void> {
    const { store } = this.#means
    if (!this.#isKnown) await this.#enter()
    this.#isKnown = true
    while (this.#isStale) {
      this.#isStale = false
      const key = listKey(this.#place)
      const rows = this.#waiting.calls.map(call => this.#rowOf(call))
      const last = Math.max(Date.now(), ...this.#waiting.calls.map(({ until }) => until))
      await store.put(key, store.seal(textOf(rows), key), { ms: lifeOf(last) })
    }
  }

  /** Enters this replica in the list of those that ever had a call. */
  async #enter(): Promise<void> {
    const { store } = this.#means
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const before = await store.get(PLACES)
      const places = placesIn(before)
      if (places.includes(this.#place)) return
      const next = [...places, this.#place].slice(-MAX_PLACES).join(' ')
      const when = before === undefined ? 'absent' : { is: before }
      if (await store.put(PLACES, next, { ms: PLACES_MS, when })) return
    }
  }

  async #places(): Promise<string[]> {
    return placesIn(await this.#means.store.get(PLACES))
  }

  async #rowsAt(place: string): Promise<JsonObject[]> {
    const { store } = this.#means
    const key = listKey(place)
    const sealed = await store.get(key)
    const text = sealed === undefined ? undefined : store.open(sealed, key)
    const rows: unknown = text === undefined ? [] : JSON.parse(text)
    const isOpen = ({ until }: JsonObject): boolean =>
      typeof until === 'string' && Date.parse(until) > Date.now()
    return Array.isArray(rows) ? rows.filter(isObject).filter(isOpen) : []
  }

  #rowOf(call: OpenCall): JsonObject {
    return { ...this.#means.rowOf(call), replica: this.#place }
  }
}

function placesIn(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.split(' ')
}

function textOf(rows: readonly JsonObject[]): string {
  const whole = JSON.stringify(rows)
  return whole.length <= MAX_CHARACTERS
    ? whole
    : JSON.stringify(rows.map(({ arguments: _, ...row }) => row).slice(0, 500))
}

function lifeOf(until: number): number {
  return Math.max(1, Math.round(until - Date.now())) + AFTER_MS
}

function callKey(id: string): string {
  return `call ${id.slice(0, 100)}`
}

function decisionKey(id: string): string {
  return `decision ${id.slice(0, 100)}`
}

function listKey(place: string): string {
  return `calls at ${place}`
}
