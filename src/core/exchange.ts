import { rpcError, RPC } from '../protocol/rpc-error.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import type { Answer, Ask, AskReply, Call, Exchange, Inbound, Notification, Route, Session } from './ports.ts'

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

/** Carries an exchange's notifications through the hooks of its graph. */
export type Emit = (
  exchange: Exchange,
  notification: Notification,
  send: (notification: Notification) => void,
) => void

/** One request on its way. Every field is set here, so that all exchanges share one shape. */
export class RoadExchange implements Exchange {
  readonly id: number
  readonly session: Session
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly startedAt: number
  readonly slots: unknown[] = []
  params: JsonObject | undefined
  route: Route | undefined = undefined
  answer: Answer | undefined = undefined
  readonly #inbound: Inbound
  readonly #emit: Emit
  #reason: string | undefined = undefined
  #listeners: Set<(reason: string) => void> | undefined = undefined
  #controller: AbortController | undefined = undefined

  constructor(id: number, session: Session, inbound: Inbound, emit: Emit, now: number) {
    this.id = id
    this.session = session
    this.method = inbound.method
    this.params = inbound.params
    this.headers = inbound.headers ?? NO_HEADERS
    this.startedAt = now
    this.#inbound = inbound
    this.#emit = emit
  }

  get cancelled(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => void this.#listeners?.delete(listener)
  }

  /** The client has given up, or gone. The first reason counts. */
  cancel(reason: string): void {
    if (this.#reason !== undefined || this.answer !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener(reason)
  }

  emit(notification: Notification): void {
    // After the answer, or when nobody listens, there is nowhere for it to go.
    if (this.answer !== undefined || this.cancelled) return
    this.#emit(this, notification, this.#inbound.emit)
  }

  async ask(ask: Ask): Promise<AskReply> {
    if (this.#inbound.ask !== undefined) return this.#inbound.ask(ask)
    return { error: rpcError(RPC.methodNotFound, `the client cannot be asked for ${ask.method}`) }
  }
}

/** One request to one upstream. */
export class RoadCall implements Call {
  readonly upstream: string
  readonly method: string
  readonly headers: Record<string, string> = {}
  readonly exchange: Exchange
  params: JsonObject | undefined
  #reason: string | undefined = undefined
  #listeners: Map<(reason: string) => void, () => void> | undefined = undefined

  constructor(upstream: string, method: string, params: JsonObject | undefined, exchange: Exchange) {
    this.upstream = upstream
    this.method = method
    this.params = params
    this.exchange = exchange
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners ??= new Map()
    this.#listeners.set(listener, this.exchange.onCancel(listener))
    return () => this.#takeBack(listener)
  }

  cancel(reason: string): void {
    if (this.#reason !== undefined || this.exchange.cancelled) return
    this.#reason = reason
    for (const listener of [...(this.#listeners?.keys() ?? [])]) {
      this.#takeBack(listener)
      listener(reason)
    }
  }

  #takeBack(listener: (reason: string) => void): void {
    this.#listeners?.get(listener)?.()
    this.#listeners?.delete(listener)
  }
}
