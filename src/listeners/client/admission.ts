import type { Answer, Principal, Refusal } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { principalKey } from '../../plugin.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { MemoryBudget } from '../../net/backlog.ts'
import { FairQueue } from '../../util/queues.ts'

/** Queue limit per caller. */
const MAX_WAITING = 1024

/** Refusal when the listener is at capacity (HTTP 503). */
export const OVERLOADED: Refusal = createOverloadedRefusal()

function createOverloadedRefusal(): Refusal {
  const { code, message } = gatewayError('GW_OVERLOADED')
  return { status: 503, error: rpcError(RPC.internal, message, { code }), headers: { 'retry-after': '2' } }
}

/** Limits concurrent requests on a listener. Requests above the limit queue, and callers are served in turn. */
export class Admission {
  /** Updated on reload. */
  max: number
  readonly #memory: MemoryBudget
  readonly #queue = new FairQueue<() => void>()
  #open = 0

  constructor(max: number, memory: MemoryBudget) {
    this.max = max
    this.#memory = memory
  }

  /** True if the listener holds too many bytes to start another request. */
  get isFull(): boolean {
    return this.#memory.isFull
  }

  /** Runs a request immediately, or after it has queued. */
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
