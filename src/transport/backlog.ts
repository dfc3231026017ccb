import type { Clock, Principal } from '../api/index.ts'
import { ANONYMOUS, principalKey } from '../plugin.ts'

/** Bytes that wait for one connection are not counted up to here: the number of connections bounds them. */
export const SMALL = 64 * 1024
/** Bytes that may wait for a reader before we wait for it. */
const MAX_UNSENT = 1024 * 1024
/** Bytes at which a reader is given up at once, where nobody counts what is held for all. */
const MAX_BEHIND = 64 * 1024 * 1024
/** The time that a reader that is behind may take nothing at all. */
const PATIENCE_MS = 30_000

export interface BacklogOptions {
  readonly clock: Clock
  /** Counts what waits, among what is held for all clients. */
  readonly hold?: Hold | undefined
  /** The time that a reader that is behind may take nothing at all; default 30 s. */
  readonly patienceMs?: number | undefined
  /** Bytes that wait for the reader now. */
  unsent(): number
  /** The reader has fallen behind, or has caught up. */
  onFlow(): void
  /** The reader is to be given up. */
  onStuck(): void
}

/** Bounds what a reader on a network leaves unread: when to wait for it, and when to give it up. */
export class Backlog {
  isBlocked = false
  readonly #options: BacklogOptions
  #hasMoved = false
  #stopWatch: (() => void) | undefined

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** True where one more message may be written that may be missed. */
  get mayTell(): boolean {
    const { hold, unsent } = this.#options
    return !this.isBlocked && !(hold?.isTight === true && unsent() > SMALL)
  }

  /** Tells if one more message of this size may be written. */
  hasRoom(bytes: number): boolean {
    const { hold } = this.#options
    const unsent = this.#options.unsent()
    const hasRoom = hold === undefined ? unsent <= MAX_BEHIND : hold.become(waiting(unsent + bytes))
    if (!hasRoom) this.#options.onStuck()
    return hasRoom
  }

  /** Something was written. */
  grew(): void {
    if (this.isBlocked || this.#options.unsent() <= MAX_UNSENT) return
    this.isBlocked = true
    this.#watch()
    this.#options.onFlow()
  }

  /** Something has left. */
  shrank(): void {
    const { hold } = this.#options
    if (hold !== undefined && hold.bytes > 0) hold.become(waiting(this.#options.unsent()))
    if (!this.isBlocked) return
    this.#hasMoved = true
    if (this.#options.unsent() > MAX_UNSENT / 2) return
    this.stop()
    this.isBlocked = false
    this.#options.onFlow()
  }

  stop(): void {
    this.#stopWatch?.()
    this.#stopWatch = undefined
  }

  /** Stops the watch and ends the hold, as nobody reads any more. */
  end(): void {
    this.stop()
    this.#options.hold?.end()
  }

  #watch(): void {
    this.#hasMoved = false
    this.#stopWatch = this.#options.clock.after(this.#options.patienceMs ?? PATIENCE_MS, () => {
      if (this.#hasMoved) this.#watch()
      else this.#options.onStuck()
    })
  }
}

/** The part of what waits that counts. */
function waiting(unsent: number): number {
  return unsent <= SMALL ? 0 : unsent
}

/** Most bytes that may be held: for all clients together, and for each of them. */
export interface HeldLimits {
  readonly total: number
  readonly each: number
}

interface Client {
  bytes: number
  readonly holds: Set<Hold>
}

/**
 * Bytes that a listener holds for its clients. Where the room for all is short, the client makes way that holds the most:
 * what it began first is ended.
 */
export class HeldBytes {
  /** Others after a reload. */
  limits: HeldLimits
  /** Held for all clients together. */
  bytes = 0
  readonly #clients = new Map<string, Client>()

  constructor(limits: HeldLimits) {
    this.limits = limits
  }

  /** Held for one client. */
  of(client: string): number {
    return this.#clients.get(client)?.bytes ?? 0
  }

  /** Tells if half of a client's share is spent. */
  isBehind(client: string): boolean {
    return this.of(client) > this.limits.each / 2
  }

  /** True where no more is to be taken on that can be done without: half of the room is spent. */
  get isTight(): boolean {
    return this.bytes > this.limits.total / 2
  }

  /** Makes room in a client's own share; what is larger than that by itself still goes out, alone. */
  makeOwnRoom(hold: Hold, more: number): boolean {
    while (this.of(hold.client) + more > this.limits.each)
      if (!cutFirst(this.#clients.get(hold.client), hold)) return hold.bytes === 0
    return true
  }

  /** Makes room among all, where another client holds more, or else in the own share; false when there is none. */
  makeRoom(hold: Hold, more: number, mayCutOwn: boolean): boolean {
    while (this.bytes + more > this.limits.total) {
      const largest = this.#largest()
      const isLarger = largest !== undefined && largest.bytes > this.of(hold.client) + more
      const own = mayCutOwn ? this.#clients.get(hold.client) : undefined
      if (!cutFirst(isLarger ? largest : own, hold)) return false
    }
    return true
  }

  #largest(): Client | undefined {
    let largest: Client | undefined
    for (const client of this.#clients.values()) if (client.bytes > (largest?.bytes ?? 0)) largest = client
    return largest
  }

  /** Counts a change; who holds nothing is not in the table. */
  count(hold: Hold, change: number): void {
    this.bytes += change
    const client = this.#clients.get(hold.client) ?? { bytes: 0, holds: new Set() }
    client.bytes += change
    if (hold.bytes > 0) client.holds.add(hold)
    else client.holds.delete(hold)
    if (client.holds.size > 0) this.#clients.set(hold.client, client)
    else this.#clients.delete(hold.client)
  }
}

function cutFirst(client: Client | undefined, except: Hold): boolean {
  for (const hold of client?.holds ?? []) {
    if (hold === except || hold.isFirm) continue
    hold.end()
    hold.cut()
    return true
  }
  return false
}

/** The bytes that one request or connection holds. */
export class Hold {
  readonly client: string
  /** Ends the connection. */
  readonly cut: () => void
  bytes = 0
  /** True while nobody may end it to make room: a call is under way. */
  isFirm = false
  readonly #held: HeldBytes
  #isOver = false

  constructor(held: HeldBytes, client: string, cut: () => void) {
    this.#held = held
    this.client = client
    this.cut = cut
  }

  get isTight(): boolean {
    return this.#held.isTight
  }

  /** Takes more bytes in; false when there is no room for them, in the client's share or among all. */
  claim(more: number): boolean {
    const isOverShare = this.#held.of(this.client) + more > this.#held.limits.each
    if (isOverShare || !this.#held.makeRoom(this, more, false)) return false
    this.#set(this.bytes + more)
    return true
  }

  /** Holds this many bytes that must go out, in the place of the client's older ones; false when there is no room for them. */
  become(bytes: number): boolean {
    const more = bytes - this.bytes
    if (more > 0 && !this.#held.makeOwnRoom(this, more)) return false
    if (more > 0 && !this.#held.makeRoom(this, more, true)) return false
    this.#set(bytes)
    return true
  }

  end(): void {
    this.#set(0)
    this.#isOver = true
  }

  #set(bytes: number): void {
    if (this.#isOver || bytes === this.bytes) return
    const change = bytes - this.bytes
    this.bytes = bytes
    this.#held.count(this, change)
  }
}

/** The key under which bytes are counted: the caller, or the address where nobody asks who calls. */
export function clientKey(caller: Principal, remoteAddress: string | undefined): string {
  const key = principalKey(caller)
  return key === principalKey(ANONYMOUS) ? `@${remoteAddress ?? ''}` : key
}

/** True if a key is that of an address. */
export function isAddress(clientKey: string): boolean {
  return clientKey.startsWith('@')
}
