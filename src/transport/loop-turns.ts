import { BoundedMap } from '../util/bounded-map.ts'
import { FairQueue } from '../util/queues/fair-queue.ts'

/**
 * Work of callers in one turn of the event loop; a single message may take longer. A call has three or four turns to take, and
 * each of them is as long as what others have in it.
 */
const SLICE_MS = 1
/** Work after which a caller that has used much rests for a few turns: as many as a call of somebody else may still have to take. */
const LONG_MS = 2
const REST_TURNS = 4
/** Use up to which nobody rests. Who uses a tenth of all time stays below. */
const MUCH_MS = 50
/** Callers that come within this time of each other share the loop. */
const SHARING_MS = 1000
/** Turns are short for this time after connections that came in turns next to each other, as more may wait. */
const CONNECTING_MS = 100
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
 * Divides the turns of the event loop among callers. A message is handled at once while there is one caller alone.
 * Otherwise a turn handles a millisecond of them; the rest waits for the next turns, in which the caller comes first that has used least.
 */
export class LoopTurns {
  readonly #loop: Loop
  readonly #queue = new FairQueue<WaitingWork>()
  #used = new BoundedMap<string, number>({ max: MOST_CALLERS })
  #halvedAt = 0
  #last = ''
  #lastAt = -Infinity
  #sharedUntil = -Infinity
  /** Connections that came in turns next to each other. */
  #connecting = 0
  /** Beginning of this turn; undefined until something is handled in it. */
  #began: number | undefined
  /** The caller of whom something is handled at once, until it is known for how long. */
  #running: string | undefined
  #runningSince = 0
  /** The caller whose work took long last, and the turns for which it rests. */
  #resting = ''
  #rest = 0
  /** Time of the turn that went to what waited. */
  #spent = 0

  constructor(loop = LOOP) {
    this.#loop = loop
  }

  /** Messages that wait for their turn. */
  get waiting(): number {
    return this.#queue.size
  }

  /** Messages of one caller that wait for their turn. */
  waitingOf(caller: string): number {
    return this.#queue.sizeOf(caller)
  }

  /** True if a message of this caller is to be handled now; else it is to wait. */
  mayRun(caller: string): boolean {
    const now = this.#loop.now()
    this.#arrived(caller, now)
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

  /** Has the next reads take turns, though they are of one caller: more comes than anybody asked for. */
  share(): void {
    this.#sharedUntil = this.#loop.now() + SHARING_MS
  }

  /** A connection was accepted. Each turn of the loop accepts one (libuv): where one comes in each, others may wait for as many turns. */
  connected(): void {
    const count = ++this.#connecting
    if (count > 1) this.#sharedUntil = Math.max(this.#sharedUntil, this.#loop.now() + CONNECTING_MS)
    const endUnlessMore = (): void => {
      if (this.#connecting === count) this.#connecting = 0
    }
    this.#loop.afterArrivals(() => this.#loop.afterArrivals(endUnlessMore))
  }

  /** Keeps work until it is this caller's turn. Work of one caller keeps its order. */
  wait(caller: string, work: WaitingWork): void {
    this.#queue.add(caller, work)
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
    if (this.#queue.size > 0 || now - began >= SLICE_MS || this.#isResting(caller)) return false
    this.#charge(caller, MESSAGE_MS)
    this.#running = caller
    this.#runningSince = now
    return true
  }

  /** Counts the time of what was handled at once. */
  #settle(now: number): void {
    const caller = this.#running
    if (caller === undefined) return
    this.#running = undefined
    const ms = now - this.#runningSince
    const used = this.#charge(caller, ms)
    if (ms > LONG_MS && used > MUCH_MS) [this.#resting, this.#rest] = [caller, REST_TURNS]
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
    if (this.#rest > 0) this.#rest--
    this.#spent = 0
    this.#doNext(now)
  }

  /** Does the work that is next, and goes on when all that follows from it at once is done. */
  #doNext(now: number): void {
    const caller = this.#spent < SLICE_MS ? this.#next() : undefined
    if (caller === undefined) return this.#close(now)
    const work = this.#queue.take(caller)
    this.#running = caller
    this.#runningSince = now
    this.#spent += work?.ms ?? 0
    this.#charge(caller, MESSAGE_MS + (work?.ms ?? 0))
    try {
      work?.run()
    } finally {
      this.#loop.afterPromises(this.#done)
    }
  }

  readonly #done = (): void => {
    const now = this.#loop.now()
    this.#spent += now - this.#runningSince
    this.#settle(now)
    this.#doNext(now)
  }

  #close(now: number): void {
    this.#began = undefined
    if (this.#queue.size > 0) this.#open(now)
  }

  /** Of the callers that wait, the one that has used least; of several, the one that has waited longest. One that rests is passed over. */
  #next(): string | undefined {
    let next: string | undefined
    let least = Infinity
    let left = COMPARED
    for (const caller of this.#queue.callers) {
      if (this.#isResting(caller)) continue
      const used = this.#used.get(caller) ?? 0
      if (used < least) [next, least] = [caller, used]
      if (--left === 0) break
    }
    return next
  }

  #isResting(caller: string): boolean {
    return this.#rest > 0 && caller === this.#resting
  }

  /** Adds to what a caller has used; returns all of it. */
  #charge(caller: string, ms: number): number {
    const used = (this.#used.get(caller) ?? 0) + ms
    this.#used.set(caller, used)
    return used
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
