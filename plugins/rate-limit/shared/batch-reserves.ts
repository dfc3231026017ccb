import type { Clock } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import type { LimitExceeded } from '../rule.ts'

const MAX_KEYS = 100_000
/** Time for which a caller that came again is worth a batch, and after which what is left of one is given back. */
const BATCH_MS = 1000
/** Least time between two questions about a count that is full. */
const DEBOUNCE_MS = 250

/** Numbers that are asked for together. */
export interface CountRequest {
  /** Needed by those who wait. */
  readonly wanted: number
  /** For later, as far as there is plenty. */
  readonly ahead: number
  /** Let in without asking, while the store was away. */
  readonly owed: number
  /** Got before and not used. */
  readonly unused: number
}

interface CountBatch {
  readonly got: number
  /** Milliseconds, from before it was asked for, in which it must be used. */
  readonly forMs: number
  readonly waitMs: number
}

/** Decision about one call: it is let in, or why not. */
export type LimitDecision = LimitExceeded | undefined

/** The count of one limit that all processes share. */
export interface SharedCount {
  /** Most that are got ahead of use. */
  readonly ahead: number
  /** Time in milliseconds that calls wait for the store until it is decided here; undefined: as long as it takes. */
  readonly patienceMs: number | undefined
  requestBatch(key: string, question: CountRequest): Promise<CountBatch>
  /** Decides here, while the store is away. */
  decideLocally(key: string): LimitDecision
  /** True if what is decided here must be told to the store later. */
  readonly reportsDebt: boolean
  createExceeded(waitMs: number): LimitExceeded
  /** One was let in, whoever decided it. */
  onUsed(key: string): void
}

/** Notes whether the store answers in time, so that calls do not wait for one that does not. */
export class StoreHealth {
  isAway = false
  /** Questions to the store. */
  requestCount = 0
  /** Calls that were let in here, as the store was away or late. */
  localCount = 0
  #lookAt = -Infinity

  markLost(now: number): void {
    this.isAway = true
    this.#lookAt = now + BATCH_MS
  }

  markAvailable(): void {
    this.isAway = false
  }

  /** True once a second: somebody is to look whether it answers again. */
  shouldProbe(now: number): boolean {
    if (now < this.#lookAt) return false
    this.#lookAt = now + BATCH_MS
    return true
  }
}

interface KeyState {
  readonly key: string
  left: number
  /** Time until which what is left may be used. */
  until: number
  /** Number let in since the last question, and when that was. */
  used: number
  askedAt: number
  owed: number
  /** No question before this time, as it is full; and the time when there may be room. */
  fullUntil: number
  roomAt: number
  isAsking: boolean
  readonly waiting: ((verdict: LimitDecision) => void)[]
}

/**
 * Batches of a count that all processes share: most calls are let in from what was got ahead, and cost no question. Who comes once
 * gets one; who comes often gets twice what was used last. What is not used in a second is given back.
 */
export class BatchReserves {
  readonly #count: SharedCount
  readonly #health: StoreHealth
  readonly #clock: Clock
  readonly #states: BoundedMap<string, KeyState>
  /** Keys with something to give back or to tell. */
  readonly #open = new Set<KeyState>()
  #stopTimer: (() => void) | undefined

  constructor(count: SharedCount, health: StoreHealth, clock: Clock) {
    this.#count = count
    this.#health = health
    this.#clock = clock
    this.#states = new BoundedMap({
      max: MAX_KEYS,
      onForget: (_, state) => void this.#settle(state),
    })
  }

  /** Lets one in, or says why not; a promise where the store must be asked. */
  takeOne(key: string): LimitDecision | Promise<LimitDecision> {
    const now = this.#clock.now()
    const state = this.#states.use(key) ?? this.#newState(key)
    if (state.left > 0 && now < state.until) {
      this.#useOne(state)
      return undefined
    }
    if (now < state.fullUntil) return this.#count.createExceeded(state.roomAt - now)
    if (this.#count.patienceMs !== undefined && this.#health.isAway) {
      if (!state.isAsking && this.#health.shouldProbe(now)) void this.#sendRequest(state, 0)
      return this.#decideLocally(state)
    }
    return new Promise(resolve => {
      state.waiting.push(resolve)
      this.#requestBatch(state)
    })
  }

  /** Takes one back that was let in, as something else refused it. */
  returnOne(key: string): void {
    const state = this.#states.get(key)
    if (state === undefined) return
    state.left++
    this.#scheduleSettle(state)
  }

  /** Gives all back that was got and not used. */
  async close(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    await Promise.all([...this.#open].map(state => this.#settle(state)))
  }

  #newState(key: string): KeyState {
    const state: KeyState = {
      key,
      left: 0,
      until: -Infinity,
      used: 0,
      askedAt: -Infinity,
      owed: 0,
      fullUntil: -Infinity,
      roomAt: -Infinity,
      isAsking: false,
      waiting: [],
    }
    this.#states.set(key, state)
    return state
  }

  #useOne(state: KeyState): void {
    state.left--
    this.#recordUse(state)
    if (state.left > 0) return
    this.#open.delete(state)
    // The next one is not to wait.
    if (this.#count.ahead > 0) this.#requestBatch(state)
  }

  #recordUse(state: KeyState): void {
    state.used++
    this.#count.onUsed(state.key)
  }

  #decideLocally(state: KeyState): LimitDecision {
    const verdict = this.#count.decideLocally(state.key)
    if (verdict !== undefined) return verdict
    this.#health.localCount++
    this.#recordUse(state)
    if (this.#count.reportsDebt) {
      state.owed++
      this.#scheduleSettle(state)
    }
    return undefined
  }

  #requestBatch(state: KeyState): void {
    if (state.isAsking) return
    const now = this.#clock.now()
    const isBusy = now - state.askedAt < BATCH_MS
    const ahead = isBusy ? Math.min(this.#count.ahead, 2 * state.used) : 0
    if (ahead === 0 && state.waiting.length === 0) return
    state.used = 0
    state.askedAt = now
    void this.#sendRequest(state, ahead)
  }

  async #sendRequest(state: KeyState, ahead: number): Promise<void> {
    state.isAsking = true
    this.#health.requestCount++
    const question = { wanted: state.waiting.length, ahead, owed: state.owed, unused: state.left }
    state.left = 0
    this.#open.delete(state)
    const at = this.#clock.now()
    const { patienceMs } = this.#count
    const forget =
      patienceMs === undefined
        ? () => undefined
        : this.#clock.after(patienceMs, () => this.#handleStoreLoss(state))
    try {
      const batch = await this.#count.requestBatch(state.key, question)
      state.isAsking = false
      if (patienceMs === undefined || this.#clock.now() - at < patienceMs) this.#health.markAvailable()
      this.#handleBatch(state, question, batch, at)
    } catch {
      state.isAsking = false
      state.left += question.unused
      this.#handleStoreLoss(state)
    } finally {
      forget()
      if (state.left > 0 || state.owed > 0) this.#scheduleSettle(state)
    }
  }

  #handleBatch(
    state: KeyState,
    question: CountRequest,
    { got, forMs, waitMs }: CountBatch,
    at: number,
  ): void {
    state.owed -= question.owed
    // Those that were let in here while the answer was late are among those that it is about.
    const covered = Math.min(state.owed, got)
    state.owed -= covered
    let left = got - covered
    for (; left > 0 && state.waiting.length > 0; left--) {
      this.#recordUse(state)
      state.waiting.shift()?.(undefined)
    }
    state.left = left
    state.until = at + forMs
    const isFull = got < question.wanted || (got === 0 && waitMs > 0)
    if (!isFull) return state.waiting.length > 0 ? this.#requestBatch(state) : undefined
    const now = this.#clock.now()
    state.fullUntil = now + Math.min(waitMs, DEBOUNCE_MS)
    state.roomAt = now + waitMs
    for (const resolve of state.waiting.splice(0)) resolve(this.#count.createExceeded(waitMs))
  }

  /** The store is away, or late: those who wait are decided about here. */
  #handleStoreLoss(state: KeyState): void {
    this.#health.markLost(this.#clock.now())
    for (const resolve of state.waiting.splice(0)) resolve(this.#decideLocally(state))
  }

  /** Gives back and tells what is open. */
  async #settle(state: KeyState): Promise<void> {
    this.#open.delete(state)
    if (state.isAsking || (state.left === 0 && state.owed === 0)) return
    await this.#sendRequest(state, 0)
  }

  #scheduleSettle(state: KeyState): void {
    this.#open.add(state)
    this.#stopTimer ??= this.#clock.after(BATCH_MS, () => this.#sweep())
  }

  #sweep(): void {
    this.#stopTimer = undefined
    const now = this.#clock.now()
    for (const state of [...this.#open]) if (now - state.askedAt >= BATCH_MS) void this.#settle(state)
    if (this.#open.size > 0) this.#stopTimer ??= this.#clock.after(BATCH_MS, () => this.#sweep())
  }
}
