import type { Log } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { callerKey } from '../../plugin.ts'
import { FairQueue } from '../../util/queues/fair-queue.ts'
import { lengthOf, type Written } from '../../util/written.ts'
import type { Pending } from '../transport.ts'

/** Bytes on their way to a server beyond which messages wait. */
export const MAX_UNREAD = 1024 * 1024
/** Bytes of requests that may wait for one server, and how many of them may be one caller's. */
const MAX_WAITING = 32 * 1024 * 1024
const MAX_OF_CALLER = 8 * 1024 * 1024
/** Bytes of replies and notifications that may wait; their senders cannot learn that one was lost. */
const MAX_REPLIES = 8 * 1024 * 1024
const RETRY_MS = 1000
/** The beginning of a notification. */
const NOTIFICATION = '{"jsonrpc":"2.0","method":'
/** The caller of the gateway's own requests. */
const OWN = ''

/** The one stream to a server that all its clients share. */
export interface SharedStream {
  /** Tells if so many bytes may be written now; after a no, `drained` follows. */
  hasRoom(bytes: number): boolean
  write(text: Written, bytes: number): void
}

interface Waiting {
  readonly pending: Pending
  readonly caller: string
  readonly text: Written
  readonly bytes: number
}

/**
 * Requests in front of a server that reads slower than it is sent to. Callers come round in order, and each has a share of the
 * room, so that large requests of one do not keep those of others back.
 */
export class RequestQueue {
  readonly #upstream: string
  readonly #log: Log
  readonly #stream: SharedStream
  readonly #queue = new FairQueue<Waiting>()
  readonly #waiting = new Map<Pending, Waiting>()
  readonly #held = new Map<string, number>()
  #bytes = 0
  #replies: string[] = []
  #replyBytes = 0
  #hasDropped = false

  constructor({ name, log }: { readonly name: string; readonly log: Log }, stream: SharedStream) {
    this.#upstream = name
    this.#log = log
    this.#stream = stream
  }

  /** Sends a request, or keeps it until there is room. Throws a GatewayError when too much waits already. */
  send(pending: Pending, text: Written): void {
    const bytes = lengthOf(text)
    if (this.#isEmpty && this.#stream.hasRoom(bytes)) return this.#stream.write(text, bytes)
    const caller = pending.call === undefined ? OWN : callerKey(pending.call.exchange.session)
    const held = this.#held.get(caller) ?? 0
    if (held > 0 && held + bytes > MAX_OF_CALLER) throw this.#busy('over 8 MiB waits for this caller')
    if (this.#bytes > 0 && this.#bytes + bytes > MAX_WAITING) throw this.#busy('over 32 MiB waits')
    const waiting = { pending, caller, text, bytes }
    this.#queue.add(caller, waiting)
    this.#waiting.set(pending, waiting)
    this.#count(waiting, 1)
  }

  /** Sends a reply or notification, before all requests that wait: the server may want it before it reads on. */
  reply(text: string): void {
    const bytes = Buffer.byteLength(text)
    if (this.#replies.length === 0 && this.#stream.hasRoom(bytes)) return this.#stream.write(text, bytes)
    if (this.#replyBytes > 0 && this.#replyBytes + bytes > MAX_REPLIES) return this.#drop(text, bytes)
    this.#replies.push(text)
    this.#replyBytes += bytes
  }

  /** Drops a message for which there is no room, and logs the first one of each time that the server does not read. */
  #drop(text: string, bytes: number): void {
    if (this.#hasDropped) return
    this.#hasDropped = true
    this.#log.warn('messages to the server are dropped until it reads again', {
      what: text.startsWith(NOTIFICATION) ? 'notification' : 'reply',
      bytes,
      waiting: this.#replyBytes,
      why: 'it reads slower than it is sent to: over 8 MiB of replies and notifications wait',
    })
  }

  /** Room has come about: the next messages go out. */
  drained(): void {
    this.#sendReplies()
    if (this.#replies.length > 0) return
    this.#hasDropped = false
    for (let next = this.#queue.next; next !== undefined; next = this.#queue.next) {
      if (!this.#stream.hasRoom(next.bytes)) return
      this.#queue.take()
      this.#waiting.delete(next.pending)
      this.#count(next, -1)
      this.#stream.write(next.text, next.bytes)
    }
  }

  #sendReplies(): void {
    let sent = 0
    for (const text of this.#replies) {
      const bytes = Buffer.byteLength(text)
      if (!this.#stream.hasRoom(bytes)) break
      this.#stream.write(text, bytes)
      this.#replyBytes -= bytes
      sent++
    }
    if (sent > 0) this.#replies = this.#replies.slice(sent)
  }

  get #isEmpty(): boolean {
    return this.#queue.size === 0 && this.#replies.length === 0
  }

  /** Withdraws a request; false when it has been sent. */
  withdraw(pending: Pending): boolean {
    const waiting = this.#waiting.get(pending)
    if (waiting === undefined) return false
    this.#waiting.delete(pending)
    this.#queue.delete(waiting)
    this.#count(waiting, -1)
    return true
  }

  #count({ caller, bytes }: Waiting, sign: 1 | -1): void {
    this.#bytes += sign * bytes
    const held = (this.#held.get(caller) ?? 0) + sign * bytes
    if (held > 0) this.#held.set(caller, held)
    else this.#held.delete(caller)
  }

  #busy(what: string): Error {
    const why = `it reads slower than it is sent to: ${what}`
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs: RETRY_MS })
  }
}
