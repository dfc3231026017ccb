import type { Behaviour } from './tool-behaviour.ts'
import type { Pending } from '../transport.ts'

/** How long a tool that was not seen to ask is tried alone, in ticks of the scheduler. */
export const TRIAL = 10
/** After a request of the server, the time in which more of the same call may come. */
const SETTLE = 2
/** How long a client may think while others wait for that. */
const THINK = 600
/** How long a reply waits until its call is alone again. */
const RESUME = 100

/** The slot of the one exclusive call that is open. Its times are ticks of the scheduler. */
export class SchedulingSlot {
  readonly pending: Pending
  readonly behaviour: Behaviour
  /** When it began to be alone, or came to be again. */
  #since: number
  /** Requests to its client that wait for their reply. */
  #asking = 0
  #askedAt: number | undefined
  #resumes: (() => void)[] = []

  constructor(pending: Pending, behaviour: Behaviour, since: number) {
    this.pending = pending
    this.behaviour = behaviour
    this.#since = since
  }

  get isAsking(): boolean {
    return this.#asking > 0
  }

  /** Whether a reply waits until the call is alone again. */
  get isResuming(): boolean {
    return this.#resumes.length > 0
  }

  asked(ticks: number): void {
    this.#asking++
    this.#askedAt = ticks
  }

  /** A reply has come. */
  replied(ticks: number): void {
    this.#asking--
    this.#since = ticks
    this.behaviour.waited()
  }

  /** Resolves when the reply may be passed on. */
  untilAlone(): Promise<void> {
    return new Promise(resolve => this.#resumes.push(resolve))
  }

  /** Passes on the replies that came. */
  resume(): void {
    for (const resume of this.#resumes.splice(0)) resume()
  }

  /** Whether others are kept back: a call does nothing while its client thinks, and may never ask if it has not for long. */
  isAlone(ticks: number): boolean {
    if (this.isResuming) return true
    if (this.#asking > 0) return ticks - (this.#askedAt ?? 0) < SETTLE
    return this.behaviour.asks && ticks - this.#since < this.behaviour.aloneFor
  }

  /** Whether its tool was not seen to ask, and had its chance. */
  isTried(ticks: number): boolean {
    return this.#asking === 0 && !this.behaviour.asks && ticks - this.#since >= TRIAL
  }

  /** Whether its client thinks for too long while others wait. */
  isTooLong(ticks: number): boolean {
    return this.#asking > 0 && ticks - (this.#askedAt ?? 0) >= THINK
  }

  /** A tick has passed. */
  tick(ticks: number): void {
    const alone = ticks - this.#since
    if (alone >= RESUME) this.resume()
    if (this.#askedAt === undefined && this.behaviour.asks && alone === this.behaviour.aloneFor)
      this.behaviour.overstayed()
  }
}
