import { gatewayError } from '../errors.ts'
import { callerKey } from '../plugin.ts'
import { FairQueue } from '../util/fair-queue.ts'
import type { Pending } from './wire.ts'

/** Characters on their way to a server beyond which requests wait their turn. */
const MAX_UNREAD = 1024 * 1024
/** Characters of requests that may wait for one server, and how many of them may be one caller's. */
const MAX_WAITING = 32 * 1024 * 1024
const MAX_OF_CALLER = 8 * 1024 * 1024
const RETRY_MS = 1000
/** The caller of the gateway's own requests. */
const OWN = ''

/** The one stream to a server that all its clients share. */
export interface SharedStream {
  /** Characters or bytes that were written and have not left yet. */
  readonly unread: number
  write(text: string): void
}

interface Waiting {
  readonly pending: Pending
  readonly caller: string
  readonly text: string
}

/**
 * Requests in front of a server that reads slower than it is sent to. Callers take turns, and each has a share of the
 * room, so that large requests of one do not keep those of others back.
 */
export class RequestQueue {
  readonly #upstream: string
  readonly #stream: SharedStream
  readonly #queue = new FairQueue<Waiting>()
  readonly #waiting = new Map<Pending, Waiting>()
  readonly #held = new Map<string, number>()
  #length = 0

  constructor(upstream: string, stream: SharedStream) {
    this.#upstream = upstream
    this.#stream = stream
  }

  /** Sends a request, or keeps it until there is room. Throws a GatewayError when too much waits already. */
  send(pending: Pending, text: string): void {
    if (this.#queue.size === 0 && this.#stream.unread <= MAX_UNREAD) return this.#stream.write(text)
    const caller = pending.call === undefined ? OWN : callerKey(pending.call.exchange.session)
    const held = this.#held.get(caller) ?? 0
    if (held > 0 && held + text.length > MAX_OF_CALLER) throw this.#busy('over 8 MiB waits for this caller')
    if (this.#length > 0 && this.#length + text.length > MAX_WAITING) throw this.#busy('over 32 MiB waits')
    const waiting = { pending, caller, text }
    this.#queue.add(caller, waiting)
    this.#waiting.set(pending, waiting)
    this.#count(waiting, 1)
  }

  /** Room has come about: the next requests go out. */
  drained(): void {
    while (this.#queue.size > 0 && this.#stream.unread <= MAX_UNREAD) {
      const next = this.#queue.take()
      if (next === undefined) return
      this.#waiting.delete(next.pending)
      this.#count(next, -1)
      this.#stream.write(next.text)
    }
  }

  /** Takes a request back; false when it has been sent. */
  takeBack(pending: Pending): boolean {
    const waiting = this.#waiting.get(pending)
    if (waiting === undefined) return false
    this.#waiting.delete(pending)
    this.#queue.delete(waiting.caller, waiting)
    this.#count(waiting, -1)
    return true
  }

  #count({ caller, text }: Waiting, sign: 1 | -1): void {
    this.#length += sign * text.length
    const held = (this.#held.get(caller) ?? 0) + sign * text.length
    if (held > 0) this.#held.set(caller, held)
    else this.#held.delete(caller)
  }

  #busy(what: string): Error {
    const why = `it reads slower than it is sent to: ${what}`
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs: RETRY_MS })
  }
}
