/**
 * Store shared by all processes of a gateway, for all state that must be consistent between them. Every operation is
 * atomic. While the store is unavailable, operations soon reject with `GW_SHARED_AWAY` and are not sent later. Keys
 * and topics are private to the plugin.
 */
export interface SharedStore {
  /** False while unavailable; send requests nevertheless, as only they detect recovery. */
  readonly isUp: boolean
  /** Known processes that share it, this one included. */
  readonly processCount: number

  get(key: string): Promise<string | undefined>
  /** Stores a value with an expiry; returns false, without a change, if `when` does not match. */
  put(key: string, value: string, options: PutOptions): Promise<boolean>
  /** Returns the value and deletes it: only one concurrent caller gets it. */
  take(key: string): Promise<string | undefined>
  /** Deletes the value, with `is` only if it matches; returns false if nothing was deleted. */
  delete(key: string, is?: string): Promise<boolean>

  /** Adds to a counter with an expiry and an optional maximum. A negative number subtracts. */
  addToCounter(key: string, request: CountRequest): Promise<CountResult>

  /**
   * Publishes to all subscribers, this process included. Delivery is not guaranteed: count or store messages that
   * must not be lost.
   */
  publish(topic: string, text: string): Promise<void>
  /**
   * Subscribes to a topic. `missed` is called if messages may be lost, for example after a reconnect. Returns the
   * unsubscribe function.
   */
  subscribe(topic: string, onMessage: (text: string) => void, missed?: () => void): () => void

  /**
   * Seals text so that only these processes can read or create it; `open` needs the same `boundTo`, such as its key.
   */
  seal(text: string, boundTo: string): string
  /** Opens sealed text; undefined if it was not sealed by these processes with the same `boundTo`. */
  open(sealed: string, boundTo: string): string | undefined
}

/** Stored value expiry and condition. */
export interface PutOptions {
  /** Time to live in milliseconds. */
  readonly expiresInMs: number
  /** Stores only if there is no value, or if the value is this one. */
  readonly when?: 'absent' | { readonly is: string } | undefined
}

/** Request for a counter. */
export interface CountRequest {
  /** Number to add; negative subtracts. */
  readonly delta: number
  /** Milliseconds from the first count until the counter resets. */
  readonly expiresInMs: number
  /** Maximum; an addition beyond it is truncated. */
  readonly max?: number | undefined
  /** Initial value if the counter is missing: the last known value, as the store may have lost it. */
  readonly initial?: number | undefined
}

/** Addition result. */
export interface CountResult {
  /** Amount added. */
  readonly added: number
  /** New total. */
  readonly total: number
}
