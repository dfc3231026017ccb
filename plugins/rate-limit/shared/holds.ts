import type { Clock, SharedStore } from '../../../src/plugin.ts'
import type { Full } from '../rule.ts'
import type { Verdict } from './reserves.ts'

/** Time after which what a process held is free that has not said so again. */
const HOLD_MS = 10_000
const RENEW_MS = 3000

interface State {
  readonly key: string
  running: number
  /** Number that the store lets this process have. */
  held: number
  /** Number that was asked for last. */
  wanted: number
  isAsking: boolean
  readonly waiting: ((verdict: Verdict) => void)[]
}

/** Calls at the same time, over all processes of one host. */
export class Holds {
  readonly #store: () => SharedStore
  readonly #most: number
  readonly #full: Full
  readonly #clock: Clock
  readonly #states = new Map<string, State>()
  #stopTimer: (() => void) | undefined

  constructor(store: () => SharedStore, most: number, full: Full, clock: Clock) {
    this.#store = store
    this.#most = most
    this.#full = full
    this.#clock = clock
  }

  take(key: string): Promise<Verdict> | Verdict {
    const state = this.#states.get(key) ?? this.#newState(key)
    if (state.running < state.held && state.waiting.length === 0) {
      state.running++
      return undefined
    }
    return new Promise(resolve => {
      state.waiting.push(resolve)
      this.#ask(state)
    })
  }

  leave(key: string): void {
    const state = this.#states.get(key)
    if (state === undefined) return
    state.running--
    this.#ask(state)
  }

  close(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }

  #newState(key: string): State {
    const state: State = { key, running: 0, held: 0, wanted: 0, isAsking: false, waiting: [] }
    this.#states.set(key, state)
    this.#stopTimer ??= this.#clock.after(RENEW_MS, () => this.#renew())
    return state
  }

  #ask(state: State): void {
    if (!state.isAsking) void this.#send(state)
  }

  async #send(state: State): Promise<void> {
    state.isAsking = true
    const asked = state.waiting.length
    state.wanted = state.running + asked
    try {
      const { key, wanted } = state
      state.held = await this.#store().hold(key, { wanted, most: this.#most, ms: HOLD_MS })
    } catch {
      // Without the store there is no primary, and this process ends.
      state.held = 0
    }
    state.isAsking = false
    for (const resolve of state.waiting.splice(0, asked)) {
      if (state.running >= state.held) resolve(this.#full)
      else {
        state.running++
        resolve(undefined)
      }
    }
    if (state.waiting.length > 0 || state.running < Math.min(state.held, state.wanted)) this.#ask(state)
    else if (state.running === 0) this.#states.delete(state.key)
  }

  #renew(): void {
    this.#stopTimer = undefined
    for (const state of this.#states.values()) this.#ask(state)
    if (this.#states.size > 0) this.#stopTimer ??= this.#clock.after(RENEW_MS, () => this.#renew())
  }
}
