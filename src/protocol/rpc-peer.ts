import type { RpcId } from './jsonrpc.ts'

/** Maximum pending requests in each direction. */
export interface RpcPeerLimits {
  readonly sent: number
  readonly received: number
}

/** Pending requests of one JSON-RPC connection, in both directions. */
export class RpcPeer<Sent, Received = never> {
  /** Sent requests without an answer yet. */
  readonly sent = new InFlight<Sent>()
  /** Received requests that we have not answered yet. */
  readonly received = new InFlight<Received>()
  readonly #bounds: RpcPeerLimits
  #last = 0

  constructor(bounds: RpcPeerLimits) {
    this.#bounds = bounds
  }

  /** Returns an unused request id. */
  nextId(): number {
    return ++this.#last
  }

  /** Adds a sent request; false if the limit is reached. */
  addSent(id: RpcId, request: Sent): boolean {
    if (this.sent.size >= this.#bounds.sent) return false
    this.sent.set(id, request)
    return true
  }

  /** Finds a sent request by id. */
  findSent(id: unknown): Sent | undefined {
    const key = findKey(this.sent, id)
    return key === undefined ? undefined : this.sent.get(key)
  }

  /** Removes and returns an answer's request; undefined if unknown. */
  takeSent(id: unknown): Sent | undefined {
    return takeEntry(this.sent, id)
  }

  /** Adds a received request; duplicates and requests above the limit are rejected. */
  addReceived(id: RpcId, request: Received): 'taken' | 'repeated' | 'full' {
    if (this.received.has(id)) return 'repeated'
    if (this.received.size >= this.#bounds.received) return 'full'
    this.received.set(id, request)
    return 'taken'
  }

  /** Removes and returns a request that the peer cancelled, which then needs no answer; undefined if unknown. */
  takeReceived(id: unknown): Received | undefined {
    return takeEntry(this.received, id)
  }

  /** Removes a request; false if this object is no longer pending. Its id may have been reused. */
  settleReceived(id: RpcId, request: Received): boolean {
    if (this.received.get(id) !== request) return false
    this.received.delete(id)
    return true
  }

  /** Clears both tables after the connection closed and returns the pending requests. */
  clear(): { readonly sent: readonly Sent[]; readonly received: readonly Received[] } {
    const [sent, received] = [this.sent.values(), this.received.values()]
    this.sent.clear()
    this.received.clear()
    return { sent, received }
  }
}

/** Removes and returns an entry by id. */
export function takeEntry<T>(table: InFlight<T>, id: unknown): T | undefined {
  const key = findKey(table, id)
  if (key === undefined) return undefined
  const request = table.get(key)
  table.delete(key)
  return request
}

/** Returns the known id of an entry; many peers echo a number as a string, or vice versa. */
function findKey(table: InFlight<unknown>, id: unknown): RpcId | undefined {
  if (typeof id !== 'number' && typeof id !== 'string' && typeof id !== 'bigint') return undefined
  if (table.has(id)) return id
  const converted = convertIdType(id)
  return table.has(converted) ? converted : undefined
}

/** Converts an id to the other JSON type. */
function convertIdType(id: RpcId): RpcId {
  if (typeof id !== 'string') return String(id)
  return /^(0|-?[1-9]\d{0,14})$/.test(id) ? Number(id) : id
}

/** The table is recreated after this many deletions, or as many as it has entries. */
const MAX_DELETED = 256

/** Shared empty table, saves 200 bytes each; an idle connection has four. */
const NO_ENTRIES = new Map<RpcId, never>()

/**
 * Entries by request id; `1` is not `"1"`. A Map with constant adds and deletes leaves a chain of old tables that
 * keeps answered requests alive until a full collection, so it is replaced early.
 */
export class InFlight<T> {
  #entries: Map<RpcId, T> = NO_ENTRIES
  #deleted = 0

  get size(): number {
    return this.#entries.size
  }

  has(id: RpcId): boolean {
    return this.#entries.has(id)
  }

  get(id: RpcId): T | undefined {
    return this.#entries.get(id)
  }

  set(id: RpcId, entry: T): void {
    if (this.#entries === NO_ENTRIES) this.#entries = new Map()
    this.#entries.set(id, entry)
  }

  delete(id: RpcId): void {
    if (!this.#entries.delete(id) || ++this.#deleted < Math.max(MAX_DELETED, this.#entries.size)) return
    this.#entries = this.#entries.size === 0 ? NO_ENTRIES : new Map(this.#entries)
    this.#deleted = 0
  }

  clear(): void {
    this.#entries = NO_ENTRIES
    this.#deleted = 0
  }

  /** Returns the oldest entry. */
  first(): T | undefined {
    return this.#entries.values().next().value
  }

  /** Lists all entries with their ids. */
  entries(): [RpcId, T][] {
    return [...this.#entries]
  }

  /** Lists all entries. */
  values(): T[] {
    return [...this.#entries.values()]
  }
}
