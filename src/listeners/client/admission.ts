import type { Answer, Principal, Refusal } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { principalKey } from '../../plugin.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { HeldBytes } from '../../transport/backlog.ts'
import { FairQueue } from '../../util/queues.ts'

/** Requests of one caller that may wait. */
const MAX_WAITING = 1024

/** The refusal of a request for which a listener has no room now. */
export const OVERLOADED: Refusal = createOverloadedRefusal()

function createOverloadedRefusal(): Refusal {
  const { code, message } = gatewayError('GW_OVERLOADED')
  return { status: 503, error: rpcError(RPC.internal, message, { code }), headers: { 'retry-after': '2' } }
}

/** Bounds the requests of a listener that are under way. Above it they wait, and callers take turns. */
export class Admission {
  /** A reload may change it. */
  max: number
  readonly #held: HeldBytes
  readonly #queue = new FairQueue<() => void>()
  #open = 0

  constructor(max: number, held: HeldBytes) {
    this.max = max
    this.#held = held
  }

  /** True if no request may begin, as too many bytes are held already. */
  get isFull(): boolean {
    return this.#held.isFull
  }

  /** Runs a request, now or when it is its caller's turn. */
  run(caller: Principal, open: () => Promise<Answer>): Promise<Answer> {
    return this.#open < this.max ? this.#run(open) : this.#wait(principalKey(caller), open)
  }

  async #run(open: () => Promise<Answer>): Promise<Answer> {
    this.#open++
    try {
      return await open()
    } finally {
      this.#open--
      if (this.#open < this.max) this.#queue.take()?.()
    }
  }

  async #wait(caller: string, open: () => Promise<Answer>): Promise<Answer> {
    if (this.#queue.countQueued(caller) >= MAX_WAITING) {
      const { error, status, headers } = OVERLOADED
      return { error, http: { status, headers } }
    }
    await new Promise<void>(resolve => this.#queue.add(caller, resolve))
    return this.#run(open)
  }
}
