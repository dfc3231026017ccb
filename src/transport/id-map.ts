import type { RpcId } from '../protocol/jsonrpc.ts'

/** A table is made anew after this many deletions, or as many as it has entries. */
const MAX_DELETED = 256

/**
 * What is under way, by its id; `1` is not `"1"`. A Map that is added to and deleted from all the time leaves a chain of
 * old tables behind, which keeps what was answered long ago alive until the next full collection: so it is replaced
 * before a collection can grow attached to it.
 */
export class InFlight<T> {
  #entries = new Map<RpcId, T>()
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
    this.#entries.set(id, entry)
  }

  delete(id: RpcId): void {
    if (!this.#entries.delete(id) || ++this.#deleted < Math.max(MAX_DELETED, this.#entries.size)) return
    this.#entries = new Map(this.#entries)
    this.#deleted = 0
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
