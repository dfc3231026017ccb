import type { Clock } from '../core/ports.ts'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { Habit } from './habits.ts'

/** How long a server that does not answer a cancelled call may still speak of it, in steps: a gateway that is late reads what came meanwhile before it counts on. */
const STEPS = 10
const STEP_MS = 1000
/** Cancelled calls that are told apart; the rest are one. */
const MAX_CALLS = 1000
const REST = Symbol('the rest')

interface Cancelled {
  readonly habit: Habit | undefined
  steps: number
}

/** Calls that were cancelled or ran out of time after they were sent, until the server has answered them or had its time to. */
export class CancelledCalls {
  readonly #clock: Clock
  readonly #gone: () => void
  readonly #calls = new Map<RpcId | symbol, Cancelled>()
  #takeBack: (() => void) | undefined
  #mayAsk = 0

  /** `gone` runs when the server is done with one. */
  constructor(clock: Clock, gone: () => void) {
    this.#clock = clock
    this.#gone = gone
  }

  get size(): number {
    return this.#calls.size
  }

  /** Whether one of them may still ask its client. */
  get mayAsk(): boolean {
    return this.#mayAsk > 0
  }

  get habits(): Habit[] {
    return [...this.#calls.values()].flatMap(({ habit }) => habit ?? [])
  }

  add(id: RpcId, habit: Habit | undefined): void {
    const key = this.#calls.size < MAX_CALLS ? id : REST
    this.#remove(key)
    this.#calls.set(key, { habit, steps: 0 })
    if (habit !== undefined) this.#mayAsk++
    this.#takeBack ??= this.#clock.after(STEP_MS, () => this.#step())
  }

  /** The server has answered it after all. */
  answered(id: RpcId): void {
    if (this.#remove(id)) this.#gone()
  }

  clear(): void {
    this.#takeBack?.()
    this.#takeBack = undefined
    this.#calls.clear()
    this.#mayAsk = 0
  }

  #remove(key: RpcId | symbol): boolean {
    if (this.#calls.get(key)?.habit !== undefined) this.#mayAsk--
    return this.#calls.delete(key)
  }

  #step(): void {
    const before = this.#calls.size
    for (const [key, call] of this.#calls) if (++call.steps > STEPS) this.#remove(key)
    const isOver = this.#calls.size === 0
    this.#takeBack = isOver ? undefined : this.#clock.after(STEP_MS, () => this.#step())
    if (this.#calls.size < before) this.#gone()
  }
}
