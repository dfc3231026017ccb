import type { Clock } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import type { LimitExceeded } from '../rule.ts'

const MAX_KEYS = 100_000
/** Time within which a repeated caller gets a batch, and after which unused calls are returned. */
const BATCH_MS = 1000
/** Minimum interval between requests for an exceeded count. */
const DEBOUNCE_MS = 250

/** Numbers of one request to the store. */
export interface CountRequest {
  /** Calls that are waiting. */
  readonly count: number
  /** Additional calls in advance, if plenty are left. */
  readonly prefetch: number
  /** Calls admitted locally while the store was unavailable. */
  readonly owed: number
  /** Unused calls from the previous batch. */
  readonly unused: number
}

interface CountBatch {
  readonly granted: number
  /** Validity in milliseconds, from before the request. */
  readonly validMs: number
  readonly waitMs: number
}

/** Undefined if the call is admitted. */
export type LimitDecision = LimitExceeded | undefined

/** One limit shared by all processes. */
export interface SharedCount {
  /** Maximum calls in advance. */
  readonly ahead: number
  /** Maximum wait for the store in milliseconds before a local decision; undefined for no limit. */
  readonly patienceMs: number | undefined
  requestBatch(key: string, question: CountRequest): Promise<CountBatch>
  /** Decides locally while the store is unavailable. */
  decideLocally(key: string): LimitDecision
  /** True if local decisions must be reported to the store later. */
  readonly reportsDebt: boolean
  createExceeded(waitMs: number): LimitExceeded
  /** Called for each admitted call. */
  onUsed(key: string): void
}

/** Tracks whether the store answers in time, so that calls do not wait for an unavailable one. */
export class StoreHealth {
  isAway = false
  requestCount = 0
  /** Calls admitted locally. */
  localCount = 0
  #lookAt = -Infinity

  markLost(now: number): void {
    this.isAway = true
    this.#lookAt = now + BATCH_MS
  }

  markAvailable(): void {
    this.isAway = false
  }

  /** Returns true once per second, to probe the store. */
  shouldProbe(now: number): boolean {
    if (now < this.#lookAt) return false
    this.#lookAt = now + BATCH_MS
    return true
  }
}

interface KeyState {
  readonly key: string
  remaining: number
  /** Time until which the remaining calls are valid. */
  until: number
  /** Calls admitted since the last request, and its time. */
  used: number
  askedAt: number
  owed: number
  /** No request before this time, as the limit is exceeded; and the time when it may not be. */
  fullUntil: number
  roomAt: number
  isAsking: boolean
  readonly waiting: ((verdict: LimitDecision) => void)[]
}

/**
 * Admits most calls from batches without asking the store. A first call gets one; a frequent caller gets twice its
 * recent use. Unused calls are returned after a second.
 */
export class BatchReserves {
  readonly #count: SharedCount
  readonly #health: StoreHealth
  readonly #clock: Clock
  readonly #states: BoundedMap<string, KeyState>
  /** Keys with calls to return or to report. */
  readonly #open = new Set<KeyState>()
  #stopTimer: (() => void) | undefined

  constructor(count: SharedCount, health: StoreHealth, clock: Clock) {
    this.#count = count
    this.#health = health
    this.#clock = clock
    this.#states = new BoundedMap({
      max: MAX_KEYS,
      onForget: (_, state) => void this.#settleState(state),
    })
  }

  /** Admits a call or returns the exceeded limit; a promise if the store must be asked. */
  takeOne(key: string): LimitDecision | Promise<LimitDecision> {
    const now = this.#clock.now()
    const state = this.#states.use(key) ?? this.#newState(key)
    if (state.remaining > 0 && now < state.until) {
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

  /** Returns an admitted call that another rule has rejected. */
  returnOne(key: string): void {
    const state = this.#states.get(key)
    if (state === undefined) return
    state.remaining++
    this.#scheduleSettle(state)
  }

  /** Returns all unused calls. */
  async close(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    await Promise.all([...this.#open].map(state => this.#settleState(state)))
  }

  #newState(key: string): KeyState {
    const state: KeyState = {
      key,
      remaining: 0,
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
    state.remaining--
    this.#recordUse(state)
    if (state.remaining > 0) return
    this.#open.delete(state)
    // Request the next batch early, so that the next call does not wait.
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
    const question = { count: state.waiting.length, prefetch: ahead, owed: state.owed, unused: state.remaining }
    state.remaining = 0
    this.#open.delete(state)
    const at = this.#clock.now()
    const { patienceMs } = this.#count
    const forget =
      patienceMs === undefined ? () => undefined : this.#clock.after(patienceMs, () => this.#handleStoreLoss(state))
    try {
      const batch = await this.#count.requestBatch(state.key, question)
      state.isAsking = false
      if (patienceMs === undefined || this.#clock.now() - at < patienceMs) this.#health.markAvailable()
      this.#handleBatch(state, question, batch, at)
    } catch {
      state.isAsking = false
      state.remaining += question.unused
      this.#handleStoreLoss(state)
    } finally {
      forget()
      if (state.remaining > 0 || state.owed > 0) this.#scheduleSettle(state)
    }
  }

  #handleBatch(state: KeyState, question: CountRequest, { granted, validMs, waitMs }: CountBatch, at: number): void {
    state.owed -= question.owed
    // Calls admitted locally while the answer was late are part of it.
    const covered = Math.min(state.owed, granted)
    state.owed -= covered
    let remaining = granted - covered
    for (; remaining > 0 && state.waiting.length > 0; remaining--) {
      this.#recordUse(state)
      state.waiting.shift()?.(undefined)
    }
    state.remaining = remaining
    state.until = at + validMs
    const isFull = granted < question.count || (granted === 0 && waitMs > 0)
    if (!isFull) return state.waiting.length > 0 ? this.#requestBatch(state) : undefined
    const now = this.#clock.now()
    state.fullUntil = now + Math.min(waitMs, DEBOUNCE_MS)
    state.roomAt = now + waitMs
    for (const resolve of state.waiting.splice(0)) resolve(this.#count.createExceeded(waitMs))
  }

  /** Decides locally for waiting calls. */
  #handleStoreLoss(state: KeyState): void {
    this.#health.markLost(this.#clock.now())
    for (const resolve of state.waiting.splice(0)) resolve(this.#decideLocally(state))
  }

  /** Returns unused calls and reports local ones. */
  async #settleState(state: KeyState): Promise<void> {
    this.#open.delete(state)
    if (state.isAsking || (state.remaining === 0 && state.owed === 0)) return
    await this.#sendRequest(state, 0)
  }

  #scheduleSettle(state: KeyState): void {
    this.#open.add(state)
    this.#stopTimer ??= this.#clock.after(BATCH_MS, () => this.#sweep())
  }

  #sweep(): void {
    this.#stopTimer = undefined
    const now = this.#clock.now()
    for (const state of [...this.#open]) if (now - state.askedAt >= BATCH_MS) void this.#settleState(state)
    if (this.#open.size > 0) this.#stopTimer ??= this.#clock.after(BATCH_MS, () => this.#sweep())
  }
}
