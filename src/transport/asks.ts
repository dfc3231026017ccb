import type { Ask, AskReply, Exchange } from '../core/ports.ts'
import { reasonOf } from '../errors.ts'
import { encodeError, encodeResult, type RpcId, type RpcRequest } from '../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { Drops } from './drops.ts'
import { InFlight } from './in-flight.ts'

/** Asks that wait for their reply at once; more are refused. */
const MAX_WAITING = 1000
const KNOWN: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])
const WHOSE =
  'the gateway cannot tell which client this request is for: send it on the stream of the call it belongs to, or while only one call is open'

/** What a legacy server asks of its client: answered here, refused, or passed on and its reply sent back. */
export class Asks {
  readonly #drops: Drops
  readonly #ask: (ask: Ask, exchange: Exchange) => Promise<AskReply>
  readonly #send: (text: string) => void
  /** Each ask that waits, as an object of its own: an id may be used again. */
  readonly #waiting = new InFlight<Ask>()

  constructor(
    drops: Drops,
    ask: (ask: Ask, exchange: Exchange) => Promise<AskReply>,
    send: (text: string) => void,
  ) {
    this.#drops = drops
    this.#ask = ask
    this.#send = send
  }

  asked({ id, method, params }: RpcRequest, exchange: Exchange | undefined): void {
    if (method === 'ping') return this.#reply(id, { result: {} })
    if (!KNOWN.has(method)) return this.#refuse(id, RPC.methodNotFound, 'Method not found')
    if (this.#waiting.has(id)) return this.#drops.count('request')
    if (exchange === undefined) {
      this.#drops.count('ask')
      return this.#refuse(id, RPC.internal, WHOSE)
    }
    if (this.#waiting.size >= MAX_WAITING)
      return this.#refuse(id, RPC.internal, 'too many requests wait for their reply')
    void this.#pass(id, { method, params }, exchange)
  }

  /** The server no longer wants to know. False for what it did not ask. */
  cancelled(id: unknown): boolean {
    if ((typeof id !== 'string' && typeof id !== 'number') || !this.#waiting.has(id)) return false
    this.#waiting.delete(id)
    return true
  }

  async #pass(id: RpcId, ask: Ask, exchange: Exchange): Promise<void> {
    this.#waiting.set(id, ask)
    const reply = await this.#replyTo(ask, exchange)
    if (this.#waiting.get(id) !== ask) return
    this.#waiting.delete(id)
    this.#reply(id, reply)
  }

  async #replyTo(ask: Ask, exchange: Exchange): Promise<AskReply> {
    try {
      return await this.#ask(ask, exchange)
    } catch (error) {
      return { error: rpcError(RPC.internal, reasonOf(error)) }
    }
  }

  #refuse(id: RpcId, code: number, why: string): void {
    this.#reply(id, { error: rpcError(code, why) })
  }

  #reply(id: RpcId, reply: AskReply): void {
    this.#send(
      'error' in reply
        ? encodeError(id, reply.error)
        : encodeResult(id, Buffer.from(JSON.stringify(reply.result))).toString(),
    )
  }
}
