import { AgentFailure } from '../types/agent.ts'

/** Waiting tasks are bounded where they queue; this is only a last bound. */
const MAX_WAITING = 4096

interface Waiter {
  readonly enter: (leave: () => void) => void
  readonly refuse: (why: AgentFailure) => void
}

/** The bound on the processes of all agents together. Who waits comes in turn, and idle processes make room. */
export class Places {
  readonly #max: number
  readonly #waiting = new Set<Waiter>()
  readonly #holders = new Set<() => boolean>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** True while somebody waits: an idle process should not be kept then. */
  get isWanted(): boolean {
    return this.#waiting.size > 0
  }

  /** True if one is to be had at once. */
  get hasFree(): boolean {
    return this.#taken < this.#max && !this.isWanted
  }

  /** Asks an owner of processes to end an idle one when all places are taken; true if it did. */
  hold(endIdle: () => boolean): () => void {
    this.#holders.add(endIdle)
    return () => this.#holders.delete(endIdle)
  }

  /** A place; resolves with the way to give it back. @throws AgentFailure when given up, or when too many wait */
  take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(givenUp())
    if (this.hasFree) return Promise.resolve(this.#enter())
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(full())
    return new Promise((enter, refuse) => {
      const waiter = { enter, refuse }
      this.#waiting.add(waiter)
      const leave = (): void => {
        if (this.#waiting.delete(waiter)) refuse(givenUp())
      }
      signal.addEventListener('abort', leave, { once: true })
      for (const endIdle of this.#holders) if (endIdle()) break
    })
  }

  #enter(): () => void {
    this.#taken++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#taken--
      this.#admit()
    }
  }

  #admit(): void {
    const [next] = this.#waiting
    if (next === undefined || this.#taken >= this.#max) return
    this.#waiting.delete(next)
    next.enter(this.#enter())
  }
}

function givenUp(): AgentFailure {
  return new AgentFailure('stopped', 'place', 'nobody waits for it any more')
}

function full(): AgentFailure {
  return new AgentFailure('busy', 'place', 'too many wait for a process')
}
