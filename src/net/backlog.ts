import type { Socket } from 'node:net'
import type { Clock, Log } from '../api/index.ts'
import { Ticker } from '../util/clock.ts'

/** Unread bytes per connection that the budget ignores: the number of connections bounds them. */
export const UNCOUNTED_BYTES = 64 * 1024
/** Unread bytes at which the connection is closed. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024

/** Counts the bytes that a listener or an upstream holds in memory. */
export class MemoryBudget {
  max: number
  bytes = 0

  constructor(max: number) {
    this.max = max
  }

  /** True if no new work may begin. */
  get isFull(): boolean {
    return this.bytes >= this.max
  }

  /** True if half of the budget is used: large bodies and optional messages are refused. */
  get isHalfFull(): boolean {
    return this.bytes >= this.max / 2
  }
}

/** The bytes of one request, connection or session within a budget. */
export class MemoryShare {
  bytes = 0
  readonly #budget: MemoryBudget
  #isOver = false

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get isHalfFull(): boolean {
    return this.#budget.isHalfFull
  }

  set(bytes: number): void {
    if (this.#isOver) return
    this.#budget.bytes += bytes - this.bytes
    this.bytes = bytes
  }

  /** Counts unread bytes, unless they are few. */
  setUnsent(bytes: number): void {
    this.set(bytes <= UNCOUNTED_BYTES ? 0 : bytes)
  }

  /** Counts these bytes if they fit into the first half of the budget. */
  claim(bytes: number): boolean {
    if (bytes > this.bytes && this.#budget.bytes + bytes - this.bytes > this.#budget.max / 2) return false
    this.set(bytes)
    return true
  }

  release(): void {
    this.set(0)
    this.#isOver = true
  }
}

/** Creates a share that ends when the stream closes. */
export function createHold(
  stream: { on(event: 'close', listener: () => void): unknown },
  budget: MemoryBudget,
): MemoryShare {
  const hold = new MemoryShare(budget)
  stream.on('close', () => hold.release())
  return hold
}

/** Checks per timeout. A single late check never disconnects. */
const CHECKS_PER_LIMIT = 4

/** Disconnects clients that do not read. */
export class WriteTimeout {
  readonly #log: Log
  /** Bytes sent to a socket with unread data, and the checks without progress. */
  readonly #marks = new Map<Socket, { readonly sent: number; readonly checks: number } | undefined>()
  readonly #ticker: Ticker

  constructor(clock: Clock, log: Log, limitMs: () => number) {
    this.#log = log
    this.#ticker = new Ticker(
      clock,
      () => limitMs() / CHECKS_PER_LIMIT,
      () => this.#check(),
    )
  }

  follow(socket: Socket): void {
    this.#marks.set(socket, undefined)
    socket.on('close', () => this.#marks.delete(socket))
    this.#ticker.arm()
  }

  stop(): void {
    this.#ticker.stop()
  }

  #check(): boolean {
    for (const [socket, mark] of this.#marks) {
      const sent = countSentBytes(socket)
      const checks = sent === mark?.sent ? mark.checks + 1 : 0
      this.#marks.set(socket, socket.writableLength === 0 ? undefined : { sent, checks })
      // Let the system take a stalled process's data first.
      if (checks >= CHECKS_PER_LIMIT) setImmediate(() => this.#disconnect(socket, sent))
    }
    return this.#marks.size > 0
  }

  #disconnect(socket: Socket, sent: number): void {
    if (socket.destroyed || socket.writableLength === 0 || countSentBytes(socket) !== sent) return
    socket.destroy()
    this.#log.warn('client disconnected: write timed out')
  }
}

/** Counts the bytes that the system has taken; Node's own timeouts read the same field. */
function countSentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0)
}
