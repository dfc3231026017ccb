import { SMALL } from './backlog.ts'

const MIB = 1024 * 1024
/** Room that a reply of unknown length takes ahead of what has come of it. */
const STEP = 256 * 1024

/** Gives bytes to be read until it is paused, where it can be. */
interface Pausable {
  pause?(): unknown
  resume?(): unknown
}

/** Bytes of replies that may be in memory before they are whole. */
export interface RoomLimits {
  /** For all callers together. */
  readonly total: number
  /** For one caller. */
  readonly each: number
  /** For the first replies of all callers, which may exceed the other two. */
  readonly most: number
}

const LIMITS: RoomLimits = { total: 64 * MIB, each: 32 * MIB, most: 128 * MIB }

interface Caller {
  bytes: number
  /** In the order of their beginning. */
  readonly replies: Set<ReplyHold>
}

/**
 * Room for the replies that are being read, of all servers. A reply for which there is none is not refused, as its call has been
 * carried out: it is not read further until another one is through. The first reply of each caller goes on beyond the limits,
 * so that each has something that comes to its end; where even that is too much, the oldest of all does.
 */
export class ReplyRoom {
  /** Taken by all replies together. */
  bytes = 0
  readonly #limits: RoomLimits
  readonly #callers = new Map<string, Caller>()
  /** In the order of their beginning. */
  readonly #replies = new Set<ReplyHold>()
  #waiting = 0

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  /** Replies that are not read until there is room for them. */
  get waiting(): number {
    return this.#waiting
  }

  /** Takes room for a reply; false where there is none, and the reply waits for it. */
  take(reply: ReplyHold, more: number): boolean {
    this.#callerOf(reply).replies.add(reply)
    this.#replies.add(reply)
    if (this.#mayTake(reply, more)) {
      this.#count(reply, more)
      return true
    }
    this.#waiting++
    return false
  }

  /** Gives room back, and lets those go on that have waited for it. */
  giveBack(reply: ReplyHold, isWaiting: boolean): void {
    this.#count(reply, -reply.bytes)
    if (isWaiting) this.#waiting--
    this.#replies.delete(reply)
    const caller = this.#callerOf(reply)
    caller.replies.delete(reply)
    if (caller.replies.size === 0) this.#callers.delete(reply.caller)
    while (this.#waiting > 0 && this.#letOneGo());
  }

  #letOneGo(): boolean {
    for (const [key, caller] of this.#callers) {
      const next = [...caller.replies].find(reply => reply.isWaiting)
      if (next === undefined || !this.#mayTake(next, next.wanted)) continue
      // The next one is another caller's, where another waits.
      this.#callers.delete(key)
      this.#callers.set(key, caller)
      this.#waiting--
      this.#count(next, next.wanted)
      next.goOn()
      return true
    }
    return false
  }

  #mayTake(reply: ReplyHold, more: number): boolean {
    const { total, each, most } = this.#limits
    const caller = this.#callerOf(reply)
    const all = this.bytes + more
    if (all <= total && caller.bytes + more <= each) return true
    if (all <= most && reply === firstOf(caller.replies)) return true
    return reply === firstOf(this.#replies)
  }

  #callerOf({ caller }: ReplyHold): Caller {
    let found = this.#callers.get(caller)
    if (found === undefined) this.#callers.set(caller, (found = { bytes: 0, replies: new Set() }))
    return found
  }

  #count(reply: ReplyHold, change: number): void {
    reply.bytes += change
    this.bytes += change
    this.#callerOf(reply).bytes += change
  }
}

function firstOf<T>(items: Set<T>): T | undefined {
  return items.values().next().value
}

/** The room of this process. */
export const replyRoom = new ReplyRoom()

/** The room that one reply takes while it is read. A small one needs none. */
export class ReplyHold {
  readonly caller: string
  bytes = 0
  /** More bytes that it waits for; 0 where it does not wait. */
  wanted = 0
  readonly #room: ReplyRoom
  readonly #source: Pausable
  readonly #onRoom: (() => void) | undefined

  /** `source` is paused while there is no room; `onRoom` runs when there is again. */
  constructor(caller: string, source: Pausable, onRoom?: () => void, room = replyRoom) {
    this.caller = caller
    this.#source = source
    this.#onRoom = onRoom
    this.#room = room
  }

  /** True while there is no room for it. */
  get isWaiting(): boolean {
    return this.wanted > 0
  }

  /** Takes room for a reply of this length, or for so much of it and a little more; false where it is to wait. */
  reach(bytes: number, isWhole = false): boolean {
    if (this.isWaiting) return false
    if (bytes <= Math.max(SMALL, this.bytes)) return true
    const more = (isWhole ? bytes : bytes + STEP) - this.bytes
    if (this.#room.take(this, more)) return true
    this.wanted = more
    this.#source.pause?.()
    return false
  }

  /** There is room now, and it has been taken. Another reply may be in the middle of being read, which undici does one by one. */
  goOn(): void {
    this.wanted = 0
    this.#onRoom?.()
    queueMicrotask(() => this.#source.resume?.())
  }

  /** Gives all of its room back: nothing of it is held any more, or nobody waits for it. */
  leave(): void {
    if (this.bytes === 0 && !this.isWaiting) return
    const { isWaiting } = this
    this.wanted = 0
    this.#room.giveBack(this, isWaiting)
  }
}
