import type { Principal } from '../../../api/index.ts'
import { HeldBytes, Hold, SMALL, clientKey } from '../../../transport/held-bytes.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What the clients of a listener have not taken of what was written for them. */
export class UnreadBytes extends HeldBytes {
  readonly #holds = new Map<ServerResponse, Hold>()

  /** Whether this much may wait for a reader. One for whom there is no room is cut. */
  admits(response: ServerResponse, caller: Principal, bytes: number): boolean {
    const hold = this.#holds.size === 0 ? undefined : this.#holds.get(response)
    if (hold === undefined && bytes <= SMALL) return true
    if ((hold ?? this.#begin(response, caller)).become(bytes <= SMALL ? 0 : bytes)) return true
    response.req.socket.destroy()
    return false
  }

  #begin(response: ServerResponse, caller: Principal): Hold {
    const { socket } = response.req
    const hold = new Hold(this, clientKey(caller, socket.remoteAddress), () => socket.destroy())
    this.#holds.set(response, hold)
    response.on('drain', () => hold.become(0))
    response.on('close', () => {
      hold.end()
      this.#holds.delete(response)
    })
    return hold
  }
}

/** The bounds on what the readers of one listener leave unread. */
export interface ReaderBounds {
  readonly unread: UnreadBytes
  readonly settings: { readonly unreadMs: number }
}

/** What the client of one connection leaves unread, and for how long it may. */
export function unreadOf(
  { unread, settings }: ReaderBounds,
  caller: Principal,
  { socket }: IncomingMessage,
): { readonly hold: Hold; readonly patienceMs: number } {
  const hold = new Hold(unread, clientKey(caller, socket.remoteAddress), () => socket.destroy())
  return { hold, patienceMs: settings.unreadMs }
}
