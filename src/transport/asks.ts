import type { Ask, AskReply, Exchange } from '../core/ports.ts'
import { reasonOf } from '../errors.ts'
import { encodeError, encodeResult, type RpcId, type RpcRequest } from '../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'

/** Asks that wait for their reply at once; more are refused. */
const MAX_WAITING = 64
const KNOWN: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

/** What a legacy server asks of its client: answered here, refused, or passed on and its reply sent back. */
export class Asks {
  readonly #ask: (ask: Ask, exchange: Exchange | undefined) => Promise<AskReply>
  readonly #send: (text: string) => void
  #waiting = 0

  constructor(
    ask: (ask: Ask, exchange: Exchange | undefined) => Promise<AskReply>,
    send: (text: string) => void,
  ) {
    this.#ask = ask
    this.#send = send
  }

  asked({ id, method, params }: RpcRequest, exchange: Exchange | undefined): void {
    if (method === 'ping') this.#reply(id, { result: {} })
    else if (!KNOWN.has(method)) this.#reply(id, { error: rpcError(RPC.methodNotFound, 'Method not found') })
    else if (this.#waiting >= MAX_WAITING)
      this.#reply(id, { error: rpcError(RPC.internal, 'too many requests wait for their reply') })
    else void this.#pass(id, { method, params }, exchange)
  }

  async #pass(id: RpcId, ask: Ask, exchange: Exchange | undefined): Promise<void> {
    this.#waiting++
    try {
      this.#reply(id, await this.#ask(ask, exchange))
    } catch (error) {
      this.#reply(id, { error: rpcError(RPC.internal, reasonOf(error)) })
    } finally {
      this.#waiting--
    }
  }

  #reply(id: RpcId, reply: AskReply): void {
    this.#send(
      'error' in reply
        ? encodeError(id, reply.error)
        : encodeResult(id, Buffer.from(JSON.stringify(reply.result))).toString(),
    )
  }
}
