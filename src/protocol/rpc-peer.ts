import type { RpcId } from './jsonrpc.ts'

/** Most requests that may wait for their answer at once, in each direction. */
export interface RpcPeerLimits {
  readonly sent: number
  readonly received: number
}

/** The book of one JSON-RPC conversation: requests of ours and of the other side, from when they are made until each has its one answer. */
export class RpcPeer<Sent, Received = never> {
  /** Requests of ours that wait for their answer. */
  readonly sent = new InFlight<Sent>()
  /** Requests of the other side that we have not answered. */
  readonly received = new InFlight<Received>()
  readonly #bounds: RpcPeerLimits
  #last = 0

  constructor(bounds: RpcPeerLimits) {
    this.#bounds = bounds
  }

  /** An id that no request of ours has had. */
  nextId(): number {
    return ++this.#last
  }

  /** Notes a request of ours; false when as many wait as may. */
  addSent(id: RpcId, request: Sent): boolean {
    if (this.sent.size >= this.#bounds.sent) return false
    this.sent.set(id, request)
    return true
  }

  /** Finds the request of ours that an id names. */
  findSent(id: unknown): Sent | undefined {
    const known = findKey(this.sent, id)
    return known === undefined ? undefined : this.sent.get(known)
  }

  /** Takes the request that an answer is for; undefined when nobody waits for it. */
  takeSent(id: unknown): Sent | undefined {
    return takeEntry(this.sent, id)
  }

  /** Notes a request of the other side. One that is made twice, or is one too many, is not taken. */
  addReceived(id: RpcId, request: Received): 'taken' | 'repeated' | 'full' {
    if (this.received.has(id)) return 'repeated'
    if (this.received.size >= this.#bounds.received) return 'full'
    this.received.set(id, request)
    return 'taken'
  }

  /** Takes the request that the other side cancels, which needs no answer then; undefined for what is not under way. */
  takeReceived(id: unknown): Received | undefined {
    return takeEntry(this.received, id)
  }

  /** Settles a request; false when this very one no longer waits for our answer. Its id may have been given to another meanwhile. */
  settleReceived(id: RpcId, request: Received): boolean {
    if (this.received.get(id) !== request) return false
    this.received.delete(id)
    return true
  }

  /** The conversation is over: gives back what waited on either side. */
  clear(): { readonly sent: readonly Sent[]; readonly received: readonly Received[] } {
    const [sent, received] = [this.sent.values(), this.received.values()]
    this.sent.clear()
    this.received.clear()
    return { sent, received }
  }
}

/** Takes the entry that an id names out of a table. */
export function takeEntry<T>(table: InFlight<T>, id: unknown): T | undefined {
  const known = findKey(table, id)
  if (known === undefined) return undefined
  const request = table.get(known)
  table.delete(known)
  return request
}

/** The id of an entry as it is known here; many peers echo a number as a text, or the other way round. */
function findKey(table: InFlight<unknown>, id: unknown): RpcId | undefined {
  const known = table.findId(id)
  if (known !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return known
  const other = convertIdType(id)
  return table.has(other) ? other : undefined
}

/** The id in the other JSON type. */
function convertIdType(id: RpcId): RpcId {
  if (typeof id !== 'string') return String(id)
  return /^(0|-?[1-9]\d{0,14})$/.test(id) ? Number(id) : id
}

/** A table is made anew after this many deletions, or as many as it has entries. */
const MAX_DELETED = 256

/** Stands for a table of its own, which has 200 bytes, as long as there are no entries: a quiet conversation has four. */
const NO_ENTRIES = new Map<RpcId, never>()

/**
 * Entries by request id; `1` is not `"1"`. A Map that is added to and deleted from all the time leaves a chain of
 * old tables behind, which keeps what was answered long ago alive until the next full collection: so it is replaced
 * before a collection can grow attached to it.
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

  /** The id of an entry as it is known here, for a value out of parameters; undefined for one of no entry. */
  findId(id: unknown): RpcId | undefined {
    if (typeof id === 'string' || typeof id === 'number') {
      if (this.#entries.has(id)) return id
      if (Number.isInteger(id) && !Number.isSafeInteger(id)) return this.#findRoundedId(id as number)
    }
    return undefined
  }

  /** A long id that reached us rounded, unless there are two of them. */
  #findRoundedId(id: number): RpcId | undefined {
    const [found, other] = [...this.#entries.keys()].filter(
      key => typeof key === 'bigint' && Number(key) === id,
    )
    return other === undefined ? found : undefined
  }

  /** The one that came first. */
  first(): T | undefined {
    return this.#entries.values().next().value
  }

  /** All of them with their ids, as they are now. */
  entries(): [RpcId, T][] {
    return [...this.#entries]
  }

  /** All of them as they are now. */
  values(): T[] {
    return [...this.#entries.values()]
  }
}
