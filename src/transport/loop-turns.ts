import { BoundedMap } from '../util/bounded-map.ts'
import { FairQueue } from '../util/fair-queue.ts'

/** Messages within `QUIET_MS` up to which nobody asks whose turn it is. */
const FEW = 8
const QUIET_MS = 4
/** Bytes of a message that count as one more message, as a shift. */
const BYTES_SHIFT = 13
/** Work of callers in one turn of the event loop; a single message may take longer. */
const SLICE_MS = 4
/** Callers that come within this time of each other share the loop. */
const SHARING_MS = 1000
/** The part of a message's cost that is not seen here, such as its answer's. */
const MESSAGE_MS = 0.1
/** Time after which half of what a caller has used is forgotten. */
const HALF_LIFE_MS = 250
/** Callers whose use is remembered. */
const MOST_CALLERS = 1024
/** Callers that are compared for each turn, of those that wait. */
const COMPARED = 16

/** Work of a caller that waits for its turn. */
export interface WaitingWork {
  /** Time that is expected of what it sets going, and that is spent later. */
  readonly ms?: number
  run(): void
}

/** Gives bytes to be read until it is paused, where it can be. */
export interface Pausable {
  pause?(): unknown
  resume?(): unknown
}

/** Time, and places in a turn of the event loop. */
export interface Loop {
  now(): number
  /** Behind everything that has arrived. */
  afterArrivals(callback: () => void): void
  /** Behind what promises go on with. */
  afterPromises(callback: () => void): void
}

const LOOP: Loop = {
  now: () => performance.now(),
  afterArrivals: callback => void setImmediate(callback),
  afterPromises: callback => queueMicrotask(() => process.nextTick(callback)),
}

/**
 * Divides the turns of the event loop among callers. A message is handled at once while there are few, or one caller alone.
 * Otherwise a turn handles a few milliseconds of them; the rest waits for the next turns, in which the caller comes first that has used least.
 */
export class LoopTurns {
  readonly #loop: Loop
  readonly #queue = new FairQueue<WaitingWork>()
  #used = new BoundedMap<string, number>({ max: MOST_CALLERS })
  #halvedAt = 0
  /** Messages since `#since`. */
  #recent = 0
  #since = 0
  #last = ''
  #lastAt = -Infinity
  #sharedUntil = -Infinity
  /** Beginning of this turn; undefined until something is handled in it. */
  #began: number | undefined
  /** The caller of whom something is handled at once, until it is known for how long. */
  #running: string | undefined
  #runningSince = 0
  /** Time that is left of the turn for what waits. */
  #left = 0

  constructor(loop = LOOP) {
    this.#loop = loop
  }

  /** Messages that wait for their turn. */
  get waiting(): number {
    return this.#queue.size
  }

  /** True while so little arrives that nobody need ask whose turn it is. */
  isQuiet(bytes: number): boolean {
    return (this.#recent += 1 + (bytes >>> BYTES_SHIFT)) < FEW
  }

  /** True if a message of this caller is to be handled now; else it is to wait. */
  mayRun(caller: string, bytes: number): boolean {
    const now = this.#loop.now()
    this.#arrived(caller, now)
    if (now - this.#since > QUIET_MS && this.#queue.size === 0) {
      this.#since = now
      this.#recent = 0
      this.isQuiet(bytes)
    }
    return !this.#isShared(now) || this.#hasRoom(caller, now)
  }

  /** The same for what a server has sent for this caller. */
  mayRunReply(caller: string): boolean {
    const now = this.#loop.now()
    return !this.#isShared(now) || this.#hasRoom(caller, now)
  }

  #isShared(now: number): boolean {
    return now <= this.#sharedUntil || this.#queue.size > 0
  }

  /** Pauses a source where callers share the loop, until it is this caller's turn; what was read last took the time since `began`. */
  readInTurn(caller: string, began: number, source: Pausable): void {
    const now = this.#loop.now()
    if (!this.#isShared(now)) return
    source.pause?.()
    this.wait(caller, { ms: now - began, run: () => void source.resume?.() })
  }

  /** Keeps work until it is this caller's turn. Work of one caller keeps its order. */
  wait(caller: string, work: WaitingWork): void {
    this.#queue.add(caller, work)
    this.#recent = FEW
    this.#open(this.#loop.now())
  }

  /** Takes back what waits; false when it does not. */
  leave(work: WaitingWork): boolean {
    return this.#queue.delete(work)
  }

  #arrived(caller: string, now: number): void {
    if (caller !== this.#last) {
      if (now - this.#lastAt < SHARING_MS) this.#sharedUntil = now + SHARING_MS
      this.#last = caller
    }
    this.#lastAt = now
  }

  #hasRoom(caller: string, now: number): boolean {
    const began = this.#open(now)
    this.#settle(now)
    if (this.#queue.size > 0 || now - began >= SLICE_MS) return false
    this.#charge(caller, MESSAGE_MS)
    this.#running = caller
    this.#runningSince = now
    return true
  }

  /** Counts the time of what was handled at once. */
  #settle(now: number): void {
    if (this.#running !== undefined) this.#charge(this.#running, now - this.#runningSince)
    this.#running = undefined
  }

  /** Begins a turn, where none is under way; returns when it began. */
  #open(now: number): number {
    if (this.#began === undefined) {
      this.#began = now
      this.#loop.afterArrivals(this.#turn)
    }
    return this.#began
  }

  readonly #turn = (): void => {
    const now = this.#loop.now()
    this.#settle(now)
    this.#halve(now)
    this.#left = SLICE_MS
    this.#doNext(now)
  }

  /** Does the work that is next, and goes on when all that follows from it at once is done. */
  #doNext(now: number): void {
    if (this.#queue.size === 0 || this.#left <= 0) return this.#close(now)
    const caller = this.#next()
    const work = this.#queue.take(caller)
    this.#running = caller
    this.#runningSince = now
    this.#left -= work?.ms ?? 0
    this.#charge(caller, MESSAGE_MS + (work?.ms ?? 0))
    try {
      work?.run()
    } finally {
      this.#loop.afterPromises(this.#done)
    }
  }

  readonly #done = (): void => {
    const now = this.#loop.now()
    this.#left -= now - this.#runningSince
    this.#settle(now)
    this.#doNext(now)
  }

  #close(now: number): void {
    this.#began = undefined
    if (this.#queue.size > 0) this.#open(now)
  }

  /** Of the callers that wait, the one that has used least; of several, the one that has waited longest. */
  #next(): string {
    let next = ''
    let least = Infinity
    let left = COMPARED
    for (const caller of this.#queue.callers) {
      const used = this.#used.get(caller) ?? 0
      if (used < least) [next, least] = [caller, used]
      if (--left === 0) break
    }
    return next
  }

  #charge(caller: string, ms: number): void {
    this.#used.set(caller, (this.#used.get(caller) ?? 0) + ms)
  }

  #halve(now: number): void {
    if (now - this.#halvedAt < HALF_LIFE_MS) return
    this.#halvedAt = now
    const halved = new BoundedMap<string, number>({ max: MOST_CALLERS })
    for (const [caller, ms] of this.#used.entries()) if (ms > MESSAGE_MS) halved.set(caller, ms / 2)
    this.#used = halved
  }
}

/** The turns of this process's event loop. */
export const loopTurns = new LoopTurns()
