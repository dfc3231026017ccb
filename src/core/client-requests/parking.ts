import { createHash, randomUUID } from 'node:crypto'
import type { Answer, Ask, AskReply, Call } from '../../api/index.ts'
import { actorKey, principalKey } from '../../api/principal.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import {
  createCannotAskReply,
  getHookReply,
  findMissingForClient,
  findMissingCapability,
  parseInputResponse,
  createInputRequests,
} from '../client-request.ts'
import type { PipelineCall, PipelineExchange } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'

/** Deadline in milliseconds for a client to retry. */
const STATE_TTL_MS = 600_000

/** Maximum parked calls, in total and per caller. */
const MAX_PARKED = 1000

const MAX_PARKED_EACH = 100

/** Client requests of one call within this time are sent together. */
const BATCH_MS = 5

interface ParkedCall {
  readonly resolve: (answer: Answer) => void
  readonly reject: (failure: unknown) => void
}

/** A call's answer, or the thrown error. */
export type ParkedOutcome = Answer | { readonly failure: unknown }

interface ParkedRequest {
  readonly ask: Ask
  readonly reply: (reply: AskReply) => void
}

/** Calls held open at legacy servers while modern clients prepare their input. Outlives a generation. */
export class Parking {
  readonly #calls = new Map<string, HeldCall>()

  find(id: string): HeldCall | undefined {
    return this.#calls.get(id)
  }

  /** Stores a call; false if the limit is reached. */
  add(call: HeldCall): boolean {
    if (this.#calls.has(call.id)) return true
    const own = [...this.#calls.values()].filter(({ owner }) => owner === call.owner)
    if (this.#calls.size >= MAX_PARKED || own.length >= MAX_PARKED_EACH) return false
    this.#calls.set(call.id, call)
    return true
  }

  remove(call: HeldCall): void {
    this.#calls.delete(call.id)
  }

  expireAll(): void {
    for (const call of this.#calls.values()) call.expire('the gateway is stopping')
  }
}

/**
 * A call at a legacy server that may send requests to its modern client: each request ends an exchange, each retry
 * resumes the call.
 */
export class HeldCall {
  readonly id = randomUUID()
  readonly owner: string
  readonly #graph: Graph
  readonly #call: PipelineCall
  readonly #open = new Map<string, ParkedRequest>()
  #exchange: PipelineExchange
  #waiting: ParkedCall | undefined
  #outcome: ParkedOutcome | undefined
  #requestCount = 0
  #round = 0
  #disarm: (() => void) | undefined

  constructor(graph: Graph, call: PipelineCall, waiting: ParkedCall) {
    this.#graph = graph
    this.#waiting = waiting
    this.#call = call
    this.#exchange = call.exchange
    this.owner = principalKey(call.exchange.session.principal)
  }

  #waitForResponse(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#finishIfAnswered()
    })
  }

  /** Stores the server's answer or error; the client's next retry returns it. */
  settle(outcome: ParkedOutcome): void {
    this.#outcome ??= outcome
    // On a shared connection, open requests may belong to other calls of the client: a result waits for their answers.
    if (!('result' in outcome)) this.#refuseRequests()
    this.#finishIfAnswered()
  }

  #refuseRequests(): void {
    for (const { ask, reply } of this.#open.values()) reply(createCannotAskReply(ask))
    this.#open.clear()
  }

  #finishIfAnswered(): void {
    const outcome = this.#outcome
    if (outcome === undefined || this.#waiting === undefined || this.#open.size > 0) return
    this.#disarm?.()
    this.#graph.parking.remove(this)
    const waiting = this.#waiting
    this.#waiting = undefined
    if ('failure' in outcome) waiting.reject(outcome.failure)
    else waiting.resolve(outcome)
  }

  /** Queues a server request; the batch is sent to the client after `BATCH_MS`. */
  async ask(ask: Ask): Promise<AskReply> {
    const hookReply = await getHookReply(this.#graph, this.#exchange, ask)
    if (hookReply !== undefined) return hookReply
    if (ask.isCancelled === true) return createCannotAskReply(ask)
    const lacks = findMissingForClient(this.#exchange, ask)
    if (lacks !== undefined) {
      this.settle({ error: findMissingCapability(ask, lacks) })
      this.#call.cancel('the client does not accept the request')
      return createCannotAskReply(ask)
    }
    return new Promise(reply => {
      const key = `ask-${++this.#requestCount}`
      this.#open.set(key, { ask, reply })
      ask.onCancel?.(() => this.#withdrawRequest(key))
      // While the client prepares its input, its deadline stays; the retry carries the remaining requests.
      if (this.#waiting !== undefined) this.#startTimer(BATCH_MS, () => this.#sendRequests())
    })
  }

  /** Withdraws a request: a later reply from the client is ignored. */
  #withdrawRequest(key: string): void {
    const open = this.#open.get(key)
    this.#open.delete(key)
    open?.reply(createCannotAskReply(open.ask))
    this.#finishIfAnswered()
  }

  /** Resumes the call after a retry, with the client's responses. */
  resume(exchange: PipelineExchange, round: number, responses: unknown): Promise<Answer> {
    if (round !== this.#round || this.#waiting !== undefined)
      return Promise.resolve({ error: createInvalidStateError() })
    this.#disarm?.()
    this.#exchange.continueAs(exchange)
    this.#exchange = exchange
    exchange.onCancel(reason => this.#call.cancel(reason))
    const answers = isObject(responses) ? responses : {}
    for (const [key, { ask, reply }] of this.#open) {
      const result = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (!isObject(result)) continue
      this.#open.delete(key)
      reply(parseInputResponse(ask, result, exchange.session.client))
    }
    // Send unanswered requests again.
    if (this.#open.size > 0) this.#startTimer(BATCH_MS, () => this.#sendRequests())
    return this.#waitForResponse()
  }

  expire(reason: string): void {
    for (const { ask, reply } of this.#open.values()) reply(createExpiredError(ask, reason))
    this.#open.clear()
    this.#call.cancel(reason)
    this.settle({ error: rpcError(RPC.internal, reason) })
    this.#graph.parking.remove(this)
  }

  #sendRequests(): void {
    if (this.#waiting === undefined || this.#open.size === 0) return
    if (!this.#graph.parking.add(this)) return this.expire('too many calls are waiting for client input')
    const { client } = this.#exchange.session
    const inputRequests = createInputRequests(this.#open, client)
    const requestState = sealState(this.#graph, this.#call, { parked: { id: this.id, round: ++this.#round } })
    this.#startTimer(STATE_TTL_MS, () => this.expire('timed out waiting for client input'))
    const { resolve } = this.#waiting
    this.#waiting = undefined
    this.#exchange.expectRetry()
    resolve({ input: Payload.of({ resultType: 'input_required', inputRequests, requestState }, 'modern') })
  }

  #startTimer(ms: number, run: () => void): void {
    this.#disarm?.()
    this.#disarm = this.#graph.clock.after(ms, run)
  }
}

function createExpiredError({ method }: Ask, reason: string): AskReply {
  return method === 'elicitation/create' ? { result: { action: 'cancel' } } : { error: rpcError(RPC.internal, reason) }
}

/** Sealed state of a call that waits for its client to retry. */
export interface RequestState {
  /** The upstream's own state, returned to it unchanged. */
  readonly inner?: string
  /** Replies by hooks. */
  readonly given?: JsonObject
  /** True if the retry repeats the original request: its responses are not for the server. */
  readonly again?: boolean
  /** The parked call that the retry resumes, and the round that it answers. */
  readonly parked?: { readonly id: string; readonly round: number }
}

/** Seals a `requestState` for this caller, upstream and request, valid for ten minutes. */
export function sealState(graph: Graph, call: Call, state: RequestState): string {
  return graph.seal.sealWithExpiry(STATE_TTL_MS, state, createBinding(call))
}

/** Opens a state; an error if it is foreign, for another request, or expired. */
export function openState(graph: Graph, call: Call, sealed: unknown): RequestState | { error: RpcError } {
  const state =
    typeof sealed === 'string'
      ? (graph.seal.openWithExpiry(sealed, createBinding(call)) as RequestState | undefined)
      : undefined
  return state ?? { error: createInvalidStateError() }
}

export function createInvalidStateError(): RpcError {
  return rpcError(RPC.invalidParams, 'Invalid params: requestState is invalid or expired', {
    reason: 'invalid_request_state',
  })
}

function createBinding({ upstream, method, params, exchange }: Call): string {
  const target = JSON.stringify([params?.name, params?.uri, params?.arguments])
  const digest = createHash('sha256').update(target).digest('base64')
  return JSON.stringify(['requestState', actorKey(exchange.session.principal), upstream, method, digest])
}
