import type { Answer, Exchange, WrappedCall, WrappedRequest } from '../api/index.ts'
import { gatewayError, GatewayError } from '../errors/errors.ts'
import type { HookTaps } from '../hooks/hook-taps.ts'
import { LOG_LEVELS } from '../protocol/era/convert.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { META, MODERN_VERSIONS } from '../protocol/methods.ts'
import { Payload } from '../protocol/payload.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { waitForFirstContact, mergeCapabilities, mergeInstructions } from './capabilities.ts'
import { createDetachedExchange } from './catalog/fetch-lists.ts'
import { dispatchWithInput } from './client-requests/bridge.ts'
import type { PipelineExchange } from './exchange.ts'
import { PipelineCall } from './exchange.ts'
import { findRoute, normalizeTarget } from './router.ts'
import type { RouteResult, FoundRoute, Graph } from './graph-types.ts'
import { listen, subscribe, unsubscribe } from './notifications/subscriptions.ts'
import { callWithPatience } from './tasks/slow-calls.ts'
import { handleTaskRequest, listOwnTasks } from './tasks/task-methods.ts'
import { addTaskCapabilities } from './tasks/task-ids.ts'
import { hideAnswerSecrets } from './hide-secrets.ts'

type OwnMethod = (exchange: PipelineExchange, graph: Graph) => Answer | Promise<Answer>

/** Methods that the gateway answers itself, whichever upstreams it has. */
const OWN_METHODS: ReadonlyMap<string, OwnMethod> = new Map<string, OwnMethod>([
  ['initialize', initialize],
  ['ping', () => createResult({})],
  ['server/discover', discover],
  ['logging/setLevel', setLevel],
  ['subscriptions/listen', listen],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['tasks/get', handleTaskRequest],
  ['tasks/update', handleTaskRequest],
  ['tasks/cancel', handleTaskRequest],
  ['tasks/result', handleTaskRequest],
  ['tasks/list', listOwnTasks],
])

async function initialize(exchange: Exchange, graph: Graph): Promise<Answer> {
  await waitForFirstContact(graph)
  return createResult({
    protocolVersion: exchange.session.client.version,
    capabilities: addTaskCapabilities(mergeCapabilities(graph), exchange.session.client, graph),
    serverInfo: graph.identity(),
    instructions: await mergeInstructions(graph, exchange.session),
  })
}

async function discover({ session }: Exchange, graph: Graph): Promise<Answer> {
  await waitForFirstContact(graph)
  return createResult({
    resultType: 'complete',
    supportedVersions: MODERN_VERSIONS,
    capabilities: addTaskCapabilities(mergeCapabilities(graph), session.client, graph),
    instructions: await mergeInstructions(graph, session),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: graph.identity() },
  })
}

/**
 * Sets the session's log level. Servers receive it so that they log enough; the gateway drops messages below the level.
 */
function setLevel(exchange: Exchange, graph: Graph): Answer {
  const level = exchange.params?.level
  if (typeof level !== 'string' || !LOG_LEVELS.includes(level)) {
    return {
      error: rpcError(RPC.invalidParams, `Invalid params: "level" must be one of ${LOG_LEVELS.join(', ')}`),
    }
  }
  exchange.session.client.logLevel = level
  for (const { upstream, dispatch } of graph.upstreams.values()) {
    const { server, state } = upstream
    // An idle server receives the level with its next call.
    if (server?.capabilities.logging === undefined || server.era === 'modern' || state === 'idle') continue
    const own = createDetachedExchange(graph, exchange.session, 'logging/setLevel')
    void dispatch(new PipelineCall(upstream.name, own.method, { level }, own)).catch(() => undefined)
  }
  return createResult({})
}

function createResult(value: JsonObject): Answer {
  return { result: Payload.of(value) }
}

/**
 * The pipeline: request hooks → route → call hooks → dispatch → response hooks → settled. Never rejects, and always
 * reaches `settled` exactly once.
 */
export async function runPipeline(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { hooks } = graph
  let answer: Answer
  graph.beginCall()
  try {
    const decided = runRequestHooks(exchange, graph)
    const decision = decided instanceof Promise ? await decided : decided
    const early = isWrapped(decision) ? await unwrapCall(exchange, decision, graph) : decision
    answer = early ?? (await forwardRequest(exchange, graph))
  } catch (error) {
    answer = toErrorAnswer(error, exchange, graph)
  }
  const { response, settled } = hooks.getRunners(exchange.method)
  if (response !== undefined) answer = await runResponseHooks(response, answer, exchange, graph)
  if ('error' in answer) {
    exchange.decidedBy ??= answer.refusedBy
    answer = hideAnswerSecrets(answer, graph)
  }
  exchange.answer = answer
  settled?.(exchange)
  graph.endCall()
  return exchange.carried === undefined ? answer : toToolAnswer(exchange.carried, answer, exchange, graph)
}

type Decision = Awaited<ReturnType<HookTaps['request']>>

/** Finds the real name and runs the `request` hooks; returns an early answer or a wrapped call, or undefined. */
function runRequestHooks(exchange: PipelineExchange, graph: Graph): ReturnType<HookTaps['request']> {
  const naming = graph.router.resolveShownName(exchange)
  return naming === undefined ? decideRequest(exchange, graph) : naming.then(() => decideRequest(exchange, graph))
}

function decideRequest(exchange: PipelineExchange, { hooks }: Graph): ReturnType<HookTaps['request']> {
  const problem = normalizeTarget(exchange)
  return problem === undefined ? hooks.getRunners(exchange.method).request?.(exchange) : { error: problem }
}

function isWrapped(decision: Decision): decision is WrappedCall | WrappedRequest {
  return decision !== undefined && ('name' in decision || 'method' in decision)
}

/** Maximum nesting: a call may carry a call that carries a request. */
const MAX_CARRIED_CALLS = 2

/** Replaces a call by the call or request in its arguments, and runs the `request` hooks again. */
async function unwrapCall(
  exchange: PipelineExchange,
  wrapped: WrappedCall | WrappedRequest,
  graph: Graph,
): Promise<Answer | undefined> {
  let decision: Decision = wrapped
  for (let depth = 0; isWrapped(decision); depth++) {
    if (depth === MAX_CARRIED_CALLS || exchange.method !== 'tools/call')
      return { error: rpcError(RPC.invalidParams, 'Invalid params: calls are nested too deeply') }
    exchange.unwrap(decision)
    decision = await runRequestHooks(exchange, graph)
  }
  return decision ?? undefined
}

/** Converts a carried request's answer to a tool result. */
function toToolAnswer(carried: WrappedRequest, answer: Answer, exchange: PipelineExchange, graph: Graph): Answer {
  try {
    return carried.convertAnswer(answer)
  } catch (error) {
    return toErrorAnswer(error, exchange, graph)
  }
}

async function runResponseHooks(
  response: HookTaps['response'],
  answer: Answer,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  try {
    const changed = response(answer, exchange)
    const made = changed instanceof Promise ? await changed : changed
    return made === undefined ? answer : preserveNumbers(made, answer)
  } catch (error) {
    return toErrorAnswer(error, exchange, graph)
  }
}

/**
 * Restores the server's number formats in an answer that taps replaced. Leaves results of a plugin's own copy of `Payload` alone.
 */
function preserveNumbers(made: Answer, before: Answer): Answer {
  if (!('result' in made) || !('result' in before) || made.result === before.result) return made
  if (!(made.result instanceof Payload && before.result instanceof Payload)) return made
  const result = made.result.derive(before.result)
  return result === made.result ? made : { ...made, result }
}

function forwardRequest(exchange: PipelineExchange, graph: Graph): Answer | Promise<Answer> {
  const own = OWN_METHODS.get(exchange.method)
  if (own !== undefined) return own(exchange, graph)
  const result = findRoute(exchange, graph)
  return result instanceof Promise
    ? result.then(route => followRoute(route, exchange, graph))
    : followRoute(result, exchange, graph)
}

function followRoute(route: RouteResult, exchange: PipelineExchange, graph: Graph): Answer | Promise<Answer> {
  if ('error' in route) return route
  exchange.route = route
  exchange.entry = route.entry
  return route.to === 'many' ? graph.catalog.list(exchange, route.upstreams) : dispatchCall(exchange, route, graph)
}

function dispatchCall(
  exchange: PipelineExchange,
  route: Extract<FoundRoute, { to: 'one' }>,
  graph: Graph,
): Promise<Answer> {
  const node = graph.upstreams.get(route.upstream)
  if (node === undefined)
    return Promise.resolve({ error: rpcError(RPC.internal, `no upstream is named "${route.upstream}"`) })
  const outbound = new PipelineCall(route.upstream, exchange.method, route.params, exchange)
  if (exchange.method === 'tools/call') {
    const mismatch = graph.router.mirrorParams(outbound, route.entry)
    if (mismatch !== undefined) return Promise.resolve({ error: mismatch })
  }
  graph.hooks.getRunners(exchange.method).call?.(outbound)
  const refusal = exchange.entry?.refusal
  if (refusal !== undefined) return Promise.resolve({ error: refusal })
  const { patience } = outbound
  return patience === undefined
    ? dispatchWithInput(outbound, node.dispatch, graph)
    : callWithPatience({ call: outbound, dispatch: node.dispatch, graph, dispatchWithInput }, patience)
}

const LOGGED_CODES: ReadonlySet<string> = new Set(['GW_INTERNAL', 'GW_PLUGIN_FAILED', 'GW_PLUGIN_TIMEOUT'])

/** True if the error must be logged: the gateway or a plugin caused it. */
export function isOwnerError(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && LOGGED_CODES.has(thrown.code)
}

/** Converts an exception to a JSON-RPC error without internals. */
function toErrorAnswer(thrown: unknown, exchange: PipelineExchange, graph: Graph): Answer {
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
  if (isOwnerError(error)) {
    graph.log.error(error.message, {
      code: error.code,
      method: exchange.method,
      ...error.fields,
      cause: getStack(error.cause),
    })
  }
  const { retryAfterMs } = error.fields
  const data = { code: error.code, ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}) }
  return { error: rpcError(error.entry.rpc ?? RPC.internal, error.message, data) }
}

function getStack(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
