import type { ServerResponse } from 'node:http'
import type { Principal } from '../../../api/index.ts'
import { clientKey, HeldBytes, Hold, SMALL } from '../../../transport/held-bytes.ts'

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
