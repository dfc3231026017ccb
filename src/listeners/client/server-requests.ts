import { randomBytes } from 'node:crypto'
import type { Ask, AskReply, Clock } from '../../api/index.ts'
import type { RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import { encodeNotification, encodeRequest } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { DroppedMessages } from '../../net/unexpected-messages.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'

/** Concurrent requests to one client. */
const MAX_OPEN = 64
/** Long, as a person may have to answer. */
const REPLY_TIMEOUT_MS = 600_000

interface PendingServerRequest {
  readonly id: RpcId
  readonly requester: Requester
  readonly reply: (reply: AskReply) => void
  readonly disarm: () => void
}

/** Pending server requests to one legacy client, matched with its replies. */
export class ServerRequests {
  readonly #clock: Clock
  readonly #drops: DroppedMessages
  readonly #peer = new RpcPeer<PendingServerRequest>({ sent: MAX_OPEN, received: 0 })
  #closed: string | undefined
  /** Random id prefix, so that late replies to another process are not matched. */
  #idPrefix = ''

  constructor(clock: Clock, drops: DroppedMessages) {
    this.#clock = clock
    this.#drops = drops
  }

  get size(): number {
    return this.#peer.sent.size
  }

  /** Resolves with the client's reply, or an error if no reply can arrive. */
  async send(ask: Ask, requester: Requester): Promise<AskReply> {
    const { method, params } = ask
    if (this.#closed !== undefined) return createErrorReply(this.#closed)
    if (this.size >= MAX_OPEN) return createErrorReply(`${MAX_OPEN} requests to the client are pending`)
    this.#idPrefix ||= randomBytes(6).toString('base64url')
    const id = `ask-${this.#idPrefix}-${this.#peer.nextId()}`
    if (!requester.deliver(encodeRequest(id, method, params, params)))
      return createErrorReply('client is not reachable')
    return new Promise(reply => {
      const disarm = this.#clock.after(REPLY_TIMEOUT_MS, () =>
        this.#cancel(id, `client did not answer within ${REPLY_TIMEOUT_MS / 1000} s`),
      )
      this.#peer.addSent(id, { id, requester, reply, disarm })
      ask.onCancel?.(reason => this.#cancel(id, reason))
    })
  }

  /** Matches a reply. Unknown or duplicate replies are dropped and counted. */
  receiveReply(response: RpcResponse): void {
    const waiting = this.#take(response.id)
    if (waiting === undefined) this.#drops.count('response')
    else waiting.reply(parseReply(response))
  }

  /** Cancels all requests sent for one client request. */
  end(requester: Requester, reason: string): void {
    for (const waiting of this.#peer.sent.values())
      if (waiting.requester === requester) this.#cancel(waiting.id, reason)
  }

  /** Fails all pending and future requests. */
  close(reason: string): void {
    this.#closed ??= reason
    for (const { id } of this.#peer.sent.values()) this.#cancel(id, reason)
  }

  #cancel(id: RpcId, reason: string): void {
    const waiting = this.#take(id)
    waiting?.requester.deliver(encodeNotification('notifications/cancelled', { requestId: id, reason }))
    waiting?.reply(createErrorReply(reason))
  }

  #take(id: RpcId | null): PendingServerRequest | undefined {
    const waiting = this.#peer.takeSent(id)
    waiting?.disarm()
    return waiting
  }
}

/** Sends server requests during one client request, and cancels them when it ends. Created lazily. */
export class Requester {
  /** Writes to this request's stream; false if the message cannot be delivered. */
  readonly deliver: (message: string) => boolean
  readonly #requests: ServerRequests
  #endReason: string | undefined

  constructor(requests: ServerRequests, carry: (message: string) => boolean) {
    this.#requests = requests
    this.deliver = carry
  }

  async ask(ask: Ask): Promise<AskReply> {
    return this.#endReason === undefined ? this.#requests.send(ask, this) : createErrorReply(this.#endReason)
  }

  end(reason: string): void {
    if (this.#endReason !== undefined) return
    this.#endReason = reason
    this.#requests.end(this, reason)
  }
}

function parseReply({ result, error }: RpcResponse): AskReply {
  if (error !== undefined) return { error }
  try {
    return { result: result === undefined ? {} : result.value() }
  } catch {
    return createErrorReply('client answered with invalid JSON')
  }
}

function createErrorReply(reason: string): AskReply {
  return { error: rpcError(RPC.internal, reason) }
}
