import type { Clock } from '../../../src/plugin.ts'
import type { AgentSettings } from '../types/settings.ts'

/** What a timer can wait at most. */
const MAX_TIMER = 2 ** 31 - 1

export type TurnPhase = 'firstUpdate' | 'idle' | 'turn'

/** One turn: when it must have begun, gone on, and ended. While the agent waits for us, it is not idle. */
export class Turn {
  readonly #clock: Clock
  readonly #timeouts: AgentSettings['timeouts']
  readonly #expire: (phase: TurnPhase, ms: number) => void
  readonly #cancelled = new AbortController()
  readonly #takeBackWhole: () => void
  #takeBack: () => void = () => undefined
  #lastSign: number
  #hasSigned = false
  #owed = 0

  constructor(
    clock: Clock,
    timeouts: AgentSettings['timeouts'],
    expire: (phase: TurnPhase, ms: number) => void,
  ) {
    this.#clock = clock
    this.#timeouts = timeouts
    this.#expire = expire
    this.#lastSign = clock.now()
    const { turnMs } = timeouts
    this.#takeBackWhole = clock.after(Math.min(turnMs, MAX_TIMER), () => expire('turn', turnMs))
    this.#watch()
  }

  /** Aborted when the turn is cancelled or over: nobody waits for answers then. */
  get signal(): AbortSignal {
    return this.#cancelled.signal
  }

  get isCancelled(): boolean {
    return this.#cancelled.signal.aborted
  }

  cancel(): void {
    this.#cancelled.abort()
  }

  /** The agent did something. Costs nothing but the time, as this is once per update. */
  sign(): void {
    this.#lastSign = this.#clock.now()
    if (this.#hasSigned) return
    this.#hasSigned = true
    this.#takeBack()
    this.#watch()
  }

  /** The agent waits for an answer of ours. */
  owe(): void {
    this.#owed++
  }

  paid(): void {
    this.#owed--
    this.#lastSign = this.#clock.now()
  }

  over(): void {
    this.#takeBack()
    this.#takeBackWhole()
    this.#cancelled.abort()
  }

  #watch(): void {
    const phase = this.#hasSigned ? 'idle' : 'firstUpdate'
    const limit = this.#timeouts[`${phase}Ms`]
    const left = this.#owed > 0 ? limit : this.#lastSign + limit - this.#clock.now()
    if (left <= 0) return this.#expire(phase, limit)
    this.#takeBack = this.#clock.after(Math.min(left, MAX_TIMER), () => this.#watch())
  }
}
