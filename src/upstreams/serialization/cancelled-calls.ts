import type { Clock, Session } from '../../api/index.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import type { Behaviour } from './tool-behaviour.ts'

/** How long a cancelled call that is not answered may still ask, and log, in steps: a gateway that is late reads what came meanwhile before it counts on. */
const STEPS_TO_ASK = 2
const STEPS_TO_LOG = 10
const STEP_MS = 1000
/** Cancelled calls that are told apart; the rest are one. */
const MAX_CALLS = 1000
const REST = Symbol('the rest')

interface Cancelled {
  /** Whose it was; undefined where the rest is of several. */
  readonly of: Session | undefined
  behaviour: Behaviour | undefined
  steps: number
}

/** Calls that were cancelled or ran out of time after they were sent, until the server has answered them or had its time to. */
export class CancelledCalls {
  readonly #clock: Clock
  readonly #gone: () => void
  readonly #calls = new Map<RpcId | symbol, Cancelled>()
  #takeBack: (() => void) | undefined
  #mayAsk = 0

  /** `gone` runs when one of them can no longer ask. */
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

  /** Whether one of another session may still ask its client. */
  mayAskBut(session: Session | undefined): boolean {
    if (!this.mayAsk) return false
    for (const { of, behaviour } of this.#calls.values())
      if (behaviour !== undefined && (of === undefined || of !== session)) return true
    return false
  }

  /** The observed behaviour of those that may. */
  get behaviours(): Behaviour[] {
    return [...this.#calls.values()].flatMap(({ behaviour }) => behaviour ?? [])
  }

  add(id: RpcId, behaviour: Behaviour | undefined, session: Session): void {
    const key = this.#calls.size < MAX_CALLS ? id : REST
    this.#remove(key)
    this.#calls.set(key, { of: key === REST ? undefined : session, behaviour, steps: 0 })
    if (behaviour !== undefined) this.#mayAsk++
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
    this.#silence(this.#calls.get(key))
    return this.#calls.delete(key)
  }

  /** A call can no longer ask. */
  #silence(call: Cancelled | undefined): void {
    if (call?.behaviour === undefined) return
    call.behaviour = undefined
    this.#mayAsk--
  }

  #step(): void {
    const before = this.#mayAsk
    for (const [key, call] of this.#calls) {
      if (++call.steps > STEPS_TO_ASK) this.#silence(call)
      if (call.steps > STEPS_TO_LOG) this.#calls.delete(key)
    }
    const isOver = this.#calls.size === 0
    this.#takeBack = isOver ? undefined : this.#clock.after(STEP_MS, () => this.#step())
    if (this.#mayAsk < before) this.#gone()
  }
}
