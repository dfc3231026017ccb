import { randomBytes } from 'node:crypto'
import type { Ask, AskReply, Clock } from '../../api/index.ts'
import type { RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import { encodeNotification, encodeRequest } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { Drops } from '../../transport/unexpected-messages.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'

/** Most requests to one client that wait for their reply at once. */
const MAX_OPEN = 64
/** A person may have to answer. */
const PATIENCE_MS = 600_000

interface PendingServerRequest {
  readonly id: RpcId
  readonly requester: Requester
  readonly reply: (reply: AskReply) => void
  readonly disarm: () => void
}

/** Requests of servers that one legacy client has not answered yet. Its replies are matched here, and nowhere else. */
export class ServerRequests {
  readonly #clock: Clock
  readonly #drops: Drops
  readonly #peer = new RpcPeer<PendingServerRequest>({ sent: MAX_OPEN, received: 0 })
  #closed: string | undefined
  /** Begins the ids: a late reply to what another process asked in the same conversation is not one to ours. */
  #mark = ''

  constructor(clock: Clock, drops: Drops) {
    this.#clock = clock
    this.#drops = drops
  }

  get size(): number {
    return this.#peer.sent.size
  }

  /** Sends a request to the client; resolves with the client's reply, or with an error when there will be none. */
  async send(ask: Ask, requester: Requester): Promise<AskReply> {
    const { method, params } = ask
    if (this.#closed !== undefined) return failure(this.#closed)
    if (this.size >= MAX_OPEN)
      return failure(`the client was asked ${MAX_OPEN} times and has not answered yet`)
    this.#mark ||= randomBytes(6).toString('base64url')
    const id = `ask-${this.#mark}-${this.#peer.nextId()}`
    if (!requester.carry(encodeRequest(id, method, params, params)))
      return failure('the client cannot be reached')
    return new Promise(reply => {
      const disarm = this.#clock.after(PATIENCE_MS, () =>
        this.#giveUp(id, `the client did not answer within ${PATIENCE_MS / 1000} s`),
      )
      this.#peer.send(id, { id, requester, reply, disarm })
      ask.onTakeBack?.(reason => this.#giveUp(id, reason))
    })
  }

  /** Takes what the client replied. What answers nothing, or for the second time, is dropped and counted. */
  answer(response: RpcResponse): void {
    const waiting = this.#take(response.id)
    if (waiting === undefined) this.#drops.count('response')
    else waiting.reply(parseReply(response))
  }

  /** Cancels all that one request has asked: it is over. */
  end(requester: Requester, reason: string): void {
    for (const waiting of this.#peer.sent.values())
      if (waiting.requester === requester) this.#giveUp(waiting.id, reason)
  }

  /** No reply can come any more. */
  close(reason: string): void {
    this.#closed ??= reason
    for (const { id } of this.#peer.sent.values()) this.#giveUp(id, reason)
  }

  #giveUp(id: RpcId, reason: string): void {
    const waiting = this.#take(id)
    waiting?.requester.carry(encodeNotification('notifications/cancelled', { requestId: id, reason }))
    waiting?.reply(failure(reason))
  }

  #take(id: RpcId | null): PendingServerRequest | undefined {
    const waiting = this.#peer.answered(id)
    waiting?.disarm()
    return waiting
  }
}

/** Sends requests of servers in the name of one request of the client, and cancels them when that is over. Made when the first one comes. */
export class Requester {
  /** Takes a message to the client on this request's own stream; false when it cannot arrive. */
  readonly carry: (message: string) => boolean
  readonly #asks: ServerRequests
  #over: string | undefined

  constructor(asks: ServerRequests, carry: (message: string) => boolean) {
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

function parseReply({ result, error }: RpcResponse): AskReply {
  if (error !== undefined) return { error }
  try {
    return { result: result === undefined ? {} : result.value() }
  } catch {
    return failure('the client answered with what is not JSON')
  }
}

function failure(why: string): AskReply {
  return { error: rpcError(RPC.internal, why) }
}
