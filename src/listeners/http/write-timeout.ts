import type { Socket } from 'node:net'
import type { Clock, Log } from '../../api/index.ts'
import { Ticker } from '../../util/idle-sweeper.ts'

/** Looks within the time limit: a connection is cut up to this part of it late. */
const LOOKS = 4
/** Bytes that a reader must take within the limit, where as much waits for it: less is a way to hold memory for ever. */
const MIN_TAKEN = 64 * 1024

/** Progress of the reader of a connection. */
interface Mark {
  readonly written: number
  readonly queued: number
  readonly at: number
}

/** Cuts connections whose other end takes nothing of what was written for it, whoever wrote it. */
export class WriteTimeout {
  readonly #clock: Clock
  readonly #log: Log
  readonly #limitMs: () => number
  readonly #marks = new Map<Socket, Mark | undefined>()
  readonly #ticker: Ticker

  constructor(clock: Clock, log: Log, limitMs: () => number) {
    this.#clock = clock
    this.#log = log
    this.#limitMs = limitMs
    this.#ticker = new Ticker(
      clock,
      () => limitMs() / LOOKS,
      () => this.#look(),
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

  #look(): boolean {
    const now = this.#clock.now()
    const stalled: Socket[] = []
    for (const [socket, mark] of this.#marks) {
      if (socket.writableLength === 0) this.#marks.set(socket, undefined)
      else if (mark === undefined || hasRead(socket, mark)) this.#marks.set(socket, markOf(socket, now))
      else if (now - mark.at >= this.#limitMs()) stalled.push(socket)
    }
    // Where it was this process that stood still, the system first takes what it can.
    if (stalled.length > 0) setImmediate(() => this.#cut(stalled))
    return this.#marks.size > 0
  }

  #cut(stalled: readonly Socket[]): void {
    const still = stalled.filter(socket => {
      const mark = this.#marks.get(socket)
      return mark !== undefined && socket.writableLength > 0 && !hasRead(socket, mark)
    })
    for (const socket of still) socket.destroy()
    if (still.length > 0)
      this.#log.warn('clients were cut that do not read what is written for them', {
        connections: still.length,
      })
  }
}

function markOf(socket: Socket, at: number): Mark {
  return { written: socket.bytesWritten - socket.writableLength, queued: queuedBytes(socket), at }
}

function hasRead(socket: Socket, mark: Mark): boolean {
  const { written, queued } = markOf(socket, 0)
  const taken = written > mark.written ? written - mark.written : mark.queued - queued
  return taken >= MIN_TAKEN
}

/** Bytes that the system has not taken of the write that is under way; Node looks at the same before its own timeouts. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
