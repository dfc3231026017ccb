import type { Clock, Session } from '../../api/index.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import type { Behaviour } from './tool-behaviour.ts'

/** Steps for which a cancelled call that is not answered may still ask, and log: a gateway that is late reads what came meanwhile before it counts on. */
const STEPS_TO_ASK = 2
const STEPS_TO_LOG = 10
const STEP_MS = 1000
/** Cancelled calls that are told apart; the rest are one, whose id no call has. */
const MAX_CALLS = 1000
const REST = 'the rest'

interface Cancelled {
  /** The session that made it; undefined where the rest is of several. */
  readonly of: Session | undefined
  /** The observed behaviour of its tool; undefined once it can no longer ask. */
  behaviour: Behaviour | undefined
  steps: number
}

/** Calls that were cancelled or ran out of time after they were sent, until the server has answered them or had its time to. */
export class CancelledCalls {
  readonly #clock: Clock
  readonly #gone: () => void
  readonly #calls = new Map<RpcId, Cancelled>()
  #stop: (() => void) | undefined

  /** `gone` runs when fewer of them can ask. */
  constructor(clock: Clock, gone: () => void) {
    this.#clock = clock
    this.#gone = gone
  }

  get size(): number {
    return this.#calls.size
  }

  /** Tells if one may still ask its client; calls of `but` do not count. */
  mayAsk(but?: Session): boolean {
    for (const { of, behaviour } of this.#calls.values())
      if (behaviour !== undefined && (of === undefined || of !== but)) return true
    return false
  }

  /** The observed behaviour of those that may. */
  get behaviours(): Behaviour[] {
    return [...this.#calls.values()].flatMap(({ behaviour }) => behaviour ?? [])
  }

  add(id: RpcId, behaviour: Behaviour | undefined, session: Session): void {
    const isRest = this.#calls.size >= MAX_CALLS
    this.#calls.set(isRest ? REST : id, { of: isRest ? undefined : session, behaviour, steps: 0 })
    this.#stop ??= this.#clock.after(STEP_MS, () => this.#step())
  }

  /** The server has answered it after all. */
  answered(id: RpcId): void {
    // An id of ours may be echoed as a text.
    if (this.#calls.delete(id) || this.#calls.delete(Number(id))) this.#gone()
  }

  clear(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#calls.clear()
  }

  #step(): void {
    for (const [id, call] of this.#calls) {
      if (++call.steps > STEPS_TO_ASK) call.behaviour = undefined
      if (call.steps > STEPS_TO_LOG) this.#calls.delete(id)
    }
    this.#stop = this.#calls.size === 0 ? undefined : this.#clock.after(STEP_MS, () => this.#step())
    this.#gone()
  }
}
