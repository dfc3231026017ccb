import { randomUUID } from 'node:crypto'
import type { Principal } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { clientKey } from '../../transport/backlog.ts'
import { loopTurns, type WaitingWork } from '../../transport/loop-turns.ts'
import type { Addressed } from '../client/inbound-request.ts'

/** Who sends on a connection. */
interface Sender {
  readonly principal?: Principal
  readonly socket?: Addressed | undefined
}

/** Messages of one connection that wait for their caller's turn, in their order. */
export class ConnectionTurns {
  readonly #sender: Sender
  readonly #onFlow: () => void
  readonly #onEmpty: () => void
  readonly #waiting = new Set<WaitingWork>()
  #caller: string | undefined

  /** `onFlow` runs when something begins to wait and when nothing does any more, `onEmpty` then as well. */
  constructor(sender: Sender, onFlow: () => void, onEmpty: () => void) {
    this.#sender = sender
    this.#onFlow = onFlow
    this.#onEmpty = onEmpty
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** True if a message is to be taken now. */
  mayTake(): boolean {
    if (this.#waiting.size > 0) return false
    return loopTurns.mayRun(this.#key)
  }

  /** Takes something behind what waits here: at once where nothing does. */
  behind(take: () => void): void {
    if (this.#waiting.size > 0) this.wait(take)
    else take()
  }

  /** Takes something when it is the caller's turn. */
  wait(take: () => void): void {
    const work: WaitingWork = {
      run: () => {
        this.#waiting.delete(work)
        take()
        if (this.#waiting.size > 0) return
        this.#onFlow()
        this.#onEmpty()
      },
    }
    this.#waiting.add(work)
    loopTurns.wait(this.#key, work)
    if (this.#waiting.size === 1) this.#onFlow()
  }

  /** Forgets all that waits: nobody is there any more to whom it would be answered. */
  drop(): void {
    for (const work of this.#waiting) loopTurns.leave(work)
    this.#waiting.clear()
  }

  /** The caller, or the address where nobody asks who calls; on a pipe each connection is one of its own. */
  get #key(): string {
    return (this.#caller ??= keyOf(this.#sender))
  }
}

function keyOf({ principal = ANONYMOUS, socket }: Sender): string {
  const address = socket?.remoteAddress
  return principal === ANONYMOUS && address === undefined ? `#${randomUUID()}` : clientKey(principal, address)
}
