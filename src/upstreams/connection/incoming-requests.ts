import type { Ask, AskReply, Exchange } from '../../api/index.ts'
import { reasonOf } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { type RpcId, type RpcRequest, encodeError, encodeResult } from '../../protocol/jsonrpc.ts'
import { paramsText } from '../../protocol/params-source.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { InFlight } from '../../transport/id-map.ts'
import type { Drops } from '../../transport/unexpected-messages.ts'

/** Asks that wait for their reply at once; more are refused. */
const MAX_WAITING = 1000
const KNOWN: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])
const WHOSE =
  'the gateway cannot tell which client this request is for: send it on the stream of the call it belongs to, or while only one call is open'

/** An ask under way to its client. */
export class PassedAsk implements Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The call that it belongs to; undefined where it is of none. */
  readonly exchange: Exchange | undefined
  isTakenBack = false
  readonly #listeners: ((reason: string) => void)[] = []

  constructor({ method, params }: RpcRequest, exchange: Exchange | undefined) {
    this.method = method
    this.params = params
    this.exchange = exchange
  }

  onTakeBack(listener: (reason: string) => void): void {
    this.#listeners.push(listener)
  }

  takeBack(reason: string): void {
    this.isTakenBack = true
    for (const listener of this.#listeners.splice(0)) listener(reason)
  }
}

/** What a legacy server asks of its client: answered here, refused, or passed on and its reply sent back. */
export class Asks {
  readonly #drops: Drops
  readonly #ask: (ask: PassedAsk) => Promise<AskReply | undefined>
  readonly #send: (text: string) => void
  /** Each ask that waits, as an object of its own: an id may be used again. */
  readonly #waiting = new InFlight<PassedAsk>()

  /** `ask` resolves with undefined where there is nobody to ask. */
  constructor(
    drops: Drops,
    ask: (ask: PassedAsk) => Promise<AskReply | undefined>,
    send: (text: string) => void,
  ) {
    this.#drops = drops
    this.#ask = ask
    this.#send = send
  }

  /**
   * A server asks; `whose` tells for which exchange, once it is known to be a proper request. What belongs to no exchange is
   * passed on where `mayBeNobodys`.
   */
  asked(request: RpcRequest, whose: () => Exchange | undefined, mayBeNobodys: boolean): void {
    const { id, method } = request
    if (method === 'ping') return this.#reply(id, { result: {} })
    if (!KNOWN.has(method)) return this.#refuse(id, RPC.methodNotFound, 'Method not found')
    if (this.#waiting.has(id)) return this.#drops.count('request')
    const exchange = whose()
    if (exchange === undefined && !mayBeNobodys) return this.#refuseNobodys(id)
    if (this.#waiting.size >= MAX_WAITING)
      return this.#refuse(id, RPC.internal, 'too many requests wait for their reply')
    void this.#pass(id, new PassedAsk(request, exchange))
  }

  /** The server no longer wants to know. False for what it did not ask. */
  cancelled(id: unknown): boolean {
    const ask = typeof id === 'string' || typeof id === 'number' ? this.#waiting.get(id) : undefined
    if (ask === undefined) return false
    this.#waiting.delete(id as RpcId)
    ask.takeBack('the server no longer wants to know')
    return true
  }

  /** Whether the server waits for a reply of this exchange's client. */
  isAsked(exchange: Exchange): boolean {
    return this.#waiting.values().some(ask => ask.exchange === exchange)
  }

  /** Nobody waits for the client of this exchange any longer: the server is told, and the client. */
  takeBack(exchange: Exchange, why: string): void {
    for (const [id, ask] of this.#waiting.entries()) {
      if (ask.exchange !== exchange) continue
      this.#waiting.delete(id)
      if (ask.method === 'elicitation/create') this.#reply(id, { result: { action: 'cancel' } })
      else this.#refuse(id, RPC.internal, why)
      ask.takeBack(why)
    }
  }

  async #pass(id: RpcId, ask: PassedAsk): Promise<void> {
    this.#waiting.set(id, ask)
    const reply = await this.#replyTo(ask)
    if (this.#waiting.get(id) !== ask) return
    this.#waiting.delete(id)
    if (reply === undefined) this.#refuseNobodys(id)
    else this.#reply(id, reply)
  }

  #refuseNobodys(id: RpcId): void {
    this.#drops.count('ask')
    this.#refuse(id, RPC.internal, WHOSE)
  }

  async #replyTo(ask: PassedAsk): Promise<AskReply | undefined> {
    try {
      return await this.#ask(ask)
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
        : encodeResult(id, Buffer.from(paramsText(reply.result, reply.result))).toString(),
    )
  }
}
