import type { Principal } from '../api/index.ts'
import { ANONYMOUS, principalKey } from '../plugin.ts'

/** How much may be held: for all clients together, and for each of them. */
export interface HeldLimits {
  readonly total: number
  readonly each: number
}

/** What waits for one connection up to here is not counted: the number of connections bounds it. */
export const SMALL = 64 * 1024

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

  /** Whether half of a client's share is spent. */
  isBehind(client: string): boolean {
    return this.of(client) > this.limits.each / 2
  }

  /** Whether no more is to be taken on that can be done without: half of the room is spent. */
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

/** What one request or connection holds. */
export class Hold {
  readonly client: string
  /** Ends the connection. */
  readonly cut: () => void
  bytes = 0
  /** Whether nobody may end it to make room: a call is under way. */
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

/** Whose bytes they are: the caller's, or those of the address where nobody asks who calls. */
export function clientKey(caller: Principal, remoteAddress: string | undefined): string {
  const key = principalKey(caller)
  return key === principalKey(ANONYMOUS) ? `@${remoteAddress ?? ''}` : key
}
