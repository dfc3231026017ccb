import type { Clock, Session } from '../../api/index.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import { InFlight, take } from '../../protocol/rpc-peer.ts'

/** Time in which a server may still send requests and logs for a cancelled call that it does not answer. */
const LINGER_MS = 10_000
const MAX_CALLS = 1000

/** Calls that were cancelled after they were sent, until the server answers them or their time is over. */
export class CancelledCalls {
  readonly #clock: Clock
  readonly #calls = new InFlight<{ readonly session: Session; readonly at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(id: RpcId, session: Session): void {
    const [oldest] = this.#calls.size < MAX_CALLS ? [] : this.#calls.entries()
    if (oldest !== undefined) this.#calls.delete(oldest[0])
    this.#calls.set(id, { session, at: this.#clock.now() })
  }

  answered(id: RpcId): void {
    take(this.#calls, id)
  }

  /** True if a message may be for one of them; those of the session `except` do not count. */
  mayBeMeant(except?: Session): boolean {
    const now = this.#clock.now()
    for (const [id, { session, at }] of this.#calls.entries()) {
      if (now - at >= LINGER_MS) this.#calls.delete(id)
      else if (session !== except) return true
    }
    return false
  }
}
