import type { Answer, Ask, AskReply, Dispatch, Exchange } from '../../api/index.ts'
import { adaptRequest, toModernAsk } from '../../protocol/era/client-requests.ts'
import { servesTasks } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import {
  parseInputRequests,
  createCannotAskReply,
  collectHookReplies,
  collectReplies,
  formatRefusal,
  getHookReply,
  findMissingForClient,
  selectClientRequests,
  toLegacyRequest,
  recordAsk,
} from '../client-request.ts'
import { PipelineCall } from '../exchange.ts'
import { callAsTask } from '../tasks/call-as-task.ts'
import type { Graph } from '../graph-types.ts'
import type { ParkedOutcome, RequestState } from './parking.ts'
import { HeldCall, createInvalidStateError, openState, sealState } from './parking.ts'

/** Methods whose answer may be an input request (2026-07-28, multi round-trip requests). */
const INPUT_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Rounds of input that a server may request before the call fails. */
const MAX_ROUNDS = 8
/** Delay before a retry without input requests. */
const RETRY_DELAY_MS = 250

/**
 * Calls an upstream and relays its client requests: unchanged between equal eras, as a loop for a legacy client, by
 * parking the call for a legacy server.
 */
export function dispatchWithInput(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  if (!INPUT_METHODS.has(call.method)) return dispatch(call)
  const asTask = mayBeTask(call, graph) ? callAsTask({ call, dispatch, graph, by: PLAINLY }) : undefined
  return asTask ?? dispatchWithoutTask(call, dispatch, graph)
}

function mayBeTask({ upstream, method, params }: PipelineCall, { upstreams }: Graph): boolean {
  if (method !== 'tools/call') return false
  const server = upstreams.get(upstream)?.upstream.server
  return params?.task !== undefined || (server !== undefined && servesTasks(server))
}

/** Does the same for a call that is not a task, or not yet. */
function dispatchWithoutTask(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  if (call.exchange.session.client.era === 'legacy') return collectInputLoop(call, dispatch, graph)
  const { params } = call
  if (params?.requestState === undefined && params?.inputResponses === undefined)
    return handleFirstRequest(call, dispatch, graph)
  return handleRetry(call, dispatch, graph)
}

const PLAINLY = { converse: dispatchWithoutTask, hold: parkCall }

/** Sends a server's request to a legacy client on its originating stream. */
export async function askLegacy(
  exchange: Exchange,
  ask: Ask,
  graph: Graph,
  send: ((ask: Ask) => Promise<AskReply>) | undefined,
): Promise<AskReply> {
  const hookReply = await getHookReply(graph, exchange, ask)
  if (hookReply !== undefined) return hookReply
  if (send === undefined || ask.isCancelled === true || findMissingForClient(exchange, ask) !== undefined)
    return createCannotAskReply(ask)
  const fitted = adaptRequest(ask, exchange.session.client)
  const reply = await send(fitted.ask === ask ? ask : replaceRequest(ask, fitted.ask))
  return 'result' in reply ? { result: fitted.convertResult(reply.result) } : reply
}

/** Copies a request with other parameters; cancellation is passed on. */
function replaceRequest(ask: Ask, { method, params }: Ask): Ask {
  return { method, params, onCancel: listener => ask.onCancel?.(listener) }
}

/** Converts a modern server's input requests to legacy client requests, until the call completes. */
async function collectInputLoop(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  let answer = await dispatch(call)
  for (let round = 1; 'input' in answer; round++) {
    if (round > MAX_ROUNDS) return createFailure(call, `the server requested input more than ${MAX_ROUNDS} times`)
    if (call.exchange.cancelled) return answer
    const { inputRequests, requestState } = answer.input.value()
    const replies = await askClientForAll(inputRequests, call.exchange, graph)
    if (typeof replies === 'string') return createFailure(call, replies)
    answer = await dispatch(createRetryCall(call, replies, requestState, graph))
  }
  return answer
}

/** Returns the client's replies by key, or an error. */
async function askClientForAll(requests: unknown, exchange: Exchange, graph: Graph): Promise<JsonObject | string> {
  const parsed = parseInputRequests(requests)
  if (parsed.length === 0) await waitBeforeRetry(exchange, graph)
  return collectReplies(parsed, ask => exchange.ask(toLegacyRequest(ask)))
}

function waitBeforeRetry(exchange: Exchange, graph: Graph): Promise<void> {
  return new Promise(resolve => {
    graph.clock.after(RETRY_DELAY_MS, resolve)
    exchange.onCancel(() => resolve())
  })
}

function createRetryCall(
  call: PipelineCall,
  inputResponses: JsonObject,
  requestState: unknown,
  graph: Graph,
): PipelineCall {
  const { requestState: _old, ...callParams } = call.params ?? {}
  const params = { ...callParams, inputResponses, ...(requestState === undefined ? {} : { requestState }) }
  const next = new PipelineCall(call.upstream, call.method, params, call.exchange)
  next.mayBeTask = call.mayBeTask
  graph.hooks.getRunner('call', call.method)?.(next)
  return next
}

function createFailure({ method }: PipelineCall, message: string): Answer {
  if (method !== 'tools/call') return { error: rpcError(RPC.internal, message) }
  return { result: Payload.of({ content: [{ type: 'text', text: message }], isError: true }) }
}

async function handleFirstRequest(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  // An unreached server may prove to be legacy, and a plugin may send client requests for any server.
  const isModern = graph.upstreams.get(call.upstream)?.upstream.server?.era === 'modern'
  const isDirect = isModern && !graph.holdsCalls
  const answer = isDirect
    ? await dispatch(call)
    : await parkCall(call, dispatchFirstRequest(call, dispatch, graph), graph)
  if ('input' in answer) return isDirect ? passInputRequests(call, answer.input, dispatch, graph) : answer
  if ('error' in answer && answer.error.code === RPC.legacyUrlElicitation) return requestUrlVisits(call, answer, graph)
  return answer
}

/** An unreached server was treated as legacy, but may require input. */
function dispatchFirstRequest(call: PipelineCall, dispatch: Dispatch, graph: Graph): Dispatch {
  return async request => {
    const answer = await dispatch(request)
    return 'input' in answer ? passInputRequests(call, answer.input, dispatch, graph) : answer
  }
}

/** Makes a call that is held once its server asks the client. */
function parkCall(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let held: HeldCall | undefined
    let isAnswered = false
    call.exchange.redirectRequests(ask => {
      if (held === undefined && isAnswered) return Promise.resolve(createCannotAskReply(ask))
      held ??= new HeldCall(graph, call, { resolve, reject })
      return held.ask(ask)
    })
    const dispatched = dispatch(call)
    const settle = (outcome: ParkedOutcome): void => {
      isAnswered = true
      if (held === undefined) resolve(dispatched)
      else held.settle(outcome)
    }
    dispatched.then(settle, (failure: unknown) => settle({ failure }))
  })
}

/** Handles a modern client's retry: of a parked call, or at a server without state. */
async function handleRetry(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer> {
  const { requestState, inputResponses, ...callParams } = call.params ?? {}
  if (requestState === undefined) return handleFirstRequest(call, dispatch, graph)
  const state = openState(graph, call, requestState)
  if ('error' in state) return state
  if (state.parked !== undefined) {
    const parked = graph.parking.find(state.parked.id)
    return parked?.resume(call.exchange, state.parked.round, inputResponses) ?? { error: createInvalidStateError() }
  }
  call.params = state.again === true ? callParams : { ...callParams, ...mergeRetryParams(state, inputResponses) }
  return handleFirstRequest(call, dispatch, graph)
}

function mergeRetryParams({ given, inner }: RequestState, responses: unknown): JsonObject {
  const inputResponses = { ...given, ...(isObject(responses) ? responses : {}) }
  return inner === undefined ? { inputResponses } : { inputResponses, requestState: inner }
}

/**
 * Passes a modern server's input requests on. Its state is sealed: only the same caller and request can return it.
 */
async function passInputRequests(
  call: PipelineCall,
  input: Payload,
  dispatch: Dispatch,
  graph: Graph,
): Promise<Answer> {
  const request = input.value()
  const replies = await collectHookReplies(request.inputRequests, call.exchange, graph)
  if ('denied' in replies) return createFailure(call, formatRefusal(replies.denied.message))
  const { hookReplies, requests } = replies
  const selected = selectClientRequests(call.exchange, requests, hookReplies)
  if ('error' in selected) return selected
  const hasHookReplies = Object.keys(hookReplies).length > 0
  if (hasHookReplies && Object.keys(selected.remaining).length === 0)
    return handleFirstRequest(createRetryCall(call, hookReplies, request.requestState, graph), dispatch, graph)
  recordSentRequests(selected.remaining, call, graph)
  const state =
    request.requestState === undefined && !hasHookReplies ? {} : sealOnwardState(request, hookReplies, call, graph)
  if (requests === request.inputRequests && state.requestState === undefined) return { input }
  const inputRequests = request.inputRequests === undefined ? {} : { inputRequests: selected.remaining }
  return { input: Payload.of({ ...request, ...inputRequests, ...state }, 'modern') }
}

/** Seals the server's own state with the replies that hooks gave for the client. */
function sealOnwardState(
  { requestState }: JsonObject,
  hookReplies: JsonObject,
  call: PipelineCall,
  graph: Graph,
): { readonly requestState?: string } {
  const inner = typeof requestState === 'string' ? { inner: requestState } : {}
  const state = Object.keys(hookReplies).length > 0 ? { ...inner, given: hookReplies } : inner
  return { requestState: sealState(graph, call, state) }
}

function recordSentRequests(requests: JsonObject, { exchange }: PipelineCall, { hooks }: Graph): void {
  for (const [, ask] of parseInputRequests(requests)) recordAsk(hooks, exchange, ask, 'sent')
}

/** A legacy server requests a URL visit by an error: send it to the modern client as an input request, then retry. */
async function requestUrlVisits(
  call: PipelineCall,
  answer: Extract<Answer, { error: unknown }>,
  graph: Graph,
): Promise<Answer> {
  const { data } = answer.error
  const elicitations = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations.filter(isObject) : []
  const requests = elicitations.map(params => ({
    method: 'elicitation/create',
    params: { mode: 'url', ...params },
  }))
  if (requests.length === 0) return answer
  for (const ask of requests) {
    const lacks = findMissingForClient(call.exchange, ask)
    if (lacks !== undefined)
      return { error: rpcError(RPC.missingCapability, answer.error.message, { requiredCapabilities: lacks }) }
  }
  const inputRequests = Object.fromEntries(requests.map((ask, index) => [`visit-${index + 1}`, toModernAsk(ask)]))
  const replies = await collectHookReplies(inputRequests, call.exchange, graph)
  if ('denied' in replies) return createFailure(call, formatRefusal(replies.denied.message))
  return {
    input: Payload.of(
      {
        resultType: 'input_required',
        inputRequests: replies.requests,
        requestState: sealState(graph, call, { again: true }),
      },
      'modern',
    ),
  }
}
