import type { Ask, AskReply, Clock } from '../../api/index.ts'
import { encodeNotification, encodeRequest, type RpcId, type RpcResponse } from '../../protocol/jsonrpc.ts'
import { valueAsWritten } from '../../protocol/params-source.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { Drops } from '../../transport/unexpected-messages.ts'
import { InFlight } from '../../transport/id-map.ts'

/** Asks of one session that wait for their reply at once; more are refused. */
const MAX_OPEN = 64
/** A person may have to answer. */
const PATIENCE_MS = 600_000

interface Waiting {
  readonly id: RpcId
  readonly asking: Asking
  readonly reply: (reply: AskReply) => void
  readonly takeBack: () => void
}

/** What one legacy client was asked and has not answered yet. Its replies are matched here, and nowhere else. */
export class ClientAsks {
  readonly #clock: Clock
  readonly #drops: Drops
  readonly #waiting = new InFlight<Waiting>()
  #last = 0
  #closed: string | undefined

  constructor(clock: Clock, drops: Drops) {
    this.#clock = clock
    this.#drops = drops
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Sends an ask on its way; resolves with the client's reply, or with an error when there will be none. */
  async send(ask: Ask, asking: Asking): Promise<AskReply> {
    const { method, params } = ask
    if (this.#closed !== undefined) return failure(this.#closed)
    if (this.#waiting.size >= MAX_OPEN)
      return failure(`the client was asked ${MAX_OPEN} times and has not answered yet`)
    const id = `ask-${++this.#last}`
    if (!asking.carry(encodeRequest(id, method, params, params)))
      return failure('the client cannot be reached')
    return new Promise(reply => {
      const takeBack = this.#clock.after(PATIENCE_MS, () =>
        this.#giveUp(id, `the client did not answer within ${PATIENCE_MS / 1000} s`),
      )
      this.#waiting.set(id, { id, asking, reply, takeBack })
      ask.onTakeBack?.(reason => this.#giveUp(id, reason))
    })
  }

  /** Takes what the client replied. What answers nothing, or for the second time, is dropped and counted. */
  answer(response: RpcResponse): void {
    const waiting = response.id === null ? undefined : this.#take(response.id)
    if (waiting === undefined) this.#drops.count('response')
    else waiting.reply(replyOf(response))
  }

  /** The request is over, and with it what it asked. */
  end(asking: Asking, reason: string): void {
    for (const waiting of this.#waiting.values())
      if (waiting.asking === asking) this.#giveUp(waiting.id, reason)
  }

  /** No reply can come any more. */
  close(reason: string): void {
    this.#closed ??= reason
    for (const { id } of this.#waiting.values()) this.#giveUp(id, reason)
  }

  #giveUp(id: RpcId, reason: string): void {
    const waiting = this.#take(id)
    waiting?.asking.carry(encodeNotification('notifications/cancelled', { requestId: id, reason }))
    waiting?.reply(failure(reason))
  }

  #take(id: RpcId): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    waiting?.takeBack()
    return waiting
  }
}

/** What one request asks its client. Made when it asks for the first time. */
export class Asking {
  /** Takes a message to the client on this request's own stream; false when it cannot arrive. */
  readonly carry: (message: string) => boolean
  readonly #asks: ClientAsks
  #over: string | undefined

  constructor(asks: ClientAsks, carry: (message: string) => boolean) {
    this.#asks = asks
    this.carry = carry
  }

  async ask(ask: Ask): Promise<AskReply> {
    return this.#over === undefined ? this.#asks.send(ask, this) : failure(this.#over)
  }

  end(reason: string): void {
    if (this.#over !== undefined) return
    this.#over = reason
    this.#asks.end(this, reason)
  }
}

function replyOf({ result, error }: RpcResponse): AskReply {
  if (error !== undefined) return { error }
  try {
    return { result: result === undefined ? {} : valueAsWritten(result) }
  } catch {
    return failure('the client answered with what is not JSON')
  }
}

function failure(why: string): AskReply {
  return { error: rpcError(RPC.internal, why) }
}
