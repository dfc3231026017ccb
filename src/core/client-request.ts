import { randomUUID } from 'node:crypto'
import type { Log, Answer, Ask, AskReply, ClientDescription, Exchange } from '../api/index.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { gatewayError } from '../errors/errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { adaptRequest, toModernAsk } from '../protocol/era/client-requests.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../protocol/era/capabilities.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { isWebUrl } from '../protocol/uri.ts'

interface HookReplyDeps {
  readonly hooks: Hooks
  readonly log: Log
}

/** Replies by a hook, or refuses a disallowed request; undefined if it must be sent to the client. */
export async function getHookReply(graph: HookReplyDeps, exchange: Exchange, ask: Ask): Promise<AskReply | undefined> {
  if (ask.method === 'elicitation/create' && ask.params?.mode === 'url' && !isWebUrl(ask.params.url)) {
    graph.log.warn('a server requested a URL elicitation with an invalid URL', {
      session: exchange.session.id,
    })
    return { error: rpcError(RPC.invalidParams, 'the elicitation URL must be http or https') }
  }
  const answer = await graph.hooks.getRunner('clientRequest', ask.method)?.(ask, exchange)
  if (answer === undefined || answer === null) return undefined
  if ('error' in answer) return { error: answer.error }
  return 'result' in answer ? { result: answer.result.value() } : undefined
}

/** Returns the missing client capability; undefined if the client can be asked. */
export function findMissingForClient(exchange: Exchange, { method, params }: Ask): JsonObject | undefined {
  return findMissingCapabilities(normalizeCapabilities(exchange.session.client), method, params)
}

export function findMissingCapability(ask: Ask, requiredCapabilities: JsonObject): RpcError {
  return rpcError(RPC.missingCapability, `The client does not support ${ask.method}`, {
    requiredCapabilities,
  })
}

/** Records a client request and its outcome for the audit. */
export function recordAsk(hooks: Hooks, exchange: Exchange, { method }: Ask, outcome: string): void {
  hooks.getRunner('auditEvent')?.({ kind: 'client_request', name: method, outcome, exchange })
}

export function summarizeReply(reply: AskReply): string {
  if ('error' in reply) return reply.error.code === RPC.methodNotFound ? 'refused' : 'error'
  const { action } = reply.result
  return typeof action === 'string' && /^[a-z]{1,16}$/.test(action) ? action : 'ok'
}

/** Reply if no hook answers and no client can be reached. */
export function createCannotAskReply({ method }: Ask): AskReply {
  return { error: rpcError(RPC.methodNotFound, `the client does not accept ${method}`) }
}

/** Parses a server's input requests by key. */
export function parseInputRequests(requests: unknown): (readonly [string, Ask])[] {
  if (!isObject(requests)) return []
  return Object.entries(requests).flatMap(([key, value]) =>
    isObject(value) && typeof value.method === 'string'
      ? [[key, { method: value.method, params: isObject(value.params) ? value.params : undefined }] as const]
      : [],
  )
}

/** Sends the requests concurrently; returns the replies by key, or the reason of the first failure. */
export async function collectReplies(
  requests: readonly (readonly [string, Ask])[],
  send: (ask: Ask) => Promise<AskReply>,
): Promise<JsonObject | string> {
  const replies = await Promise.all(requests.map(async ([key, ask]) => [key, await send(ask)] as const))
  const responses: JsonObject = {}
  for (const [key, reply] of replies) {
    if ('error' in reply) return formatRefusal(reply.error.message)
    responses[key] = reply.result
  }
  return responses
}

export function formatRefusal(reason: string): string {
  return `client request failed: ${reason}`
}

/** Converts a URL elicitation to the legacy form, which has an id. */
export function toLegacyRequest(ask: Ask): Ask {
  if (ask.method !== 'elicitation/create' || ask.params?.mode !== 'url') return ask
  return { method: ask.method, params: { elicitationId: randomUUID(), ...ask.params } }
}

export function createCancelledAnswer(): Answer {
  return { error: rpcError(RPC.internal, gatewayError('GW_CANCELLED').message, { code: 'GW_CANCELLED' }) }
}

/**
 * Collects hook replies to input requests by key, or the error of the first refusal. `requests` are the input
 * requests after the hooks: the same object if they change nothing.
 */
export async function collectHookReplies(
  requests: unknown,
  exchange: Exchange,
  graph: HookReplyDeps,
): Promise<{ readonly hookReplies: JsonObject; readonly requests: unknown } | { readonly denied: RpcError }> {
  const hookReplies = Object.create(null) as JsonObject
  let updated = requests
  for (const [key, ask] of parseInputRequests(requests)) {
    const { params } = ask
    const reply = await getHookReply(graph, exchange, ask)
    if (ask.params !== params) updated = withParams(updated, key, ask.params)
    if (reply === undefined) continue
    recordAsk(graph.hooks, exchange, ask, summarizeReply(reply))
    if ('error' in reply) return { denied: reply.error }
    hookReplies[key] = reply.result
  }
  return { hookReplies, requests: updated }
}

function withParams(requests: unknown, key: string, params: JsonObject | undefined): unknown {
  if (!isObject(requests) || !isObject(requests[key])) return requests
  return { ...requests, [key]: { ...requests[key], params } }
}

/**
 * Selects the input requests for the client, or returns an error: a client must not receive a request type that it
 * has not declared (2026-07-28, multi round-trip requests).
 */
export function selectClientRequests(
  exchange: Exchange,
  requests: unknown,
  hookReplies: JsonObject,
): { readonly remaining: JsonObject } | { readonly error: RpcError } {
  const all = isObject(requests) ? requests : {}
  const parsed = parseInputRequests(requests)
  if (parsed.length < Object.keys(all).length)
    return { error: rpcError(RPC.internal, 'the server sent invalid input requests') }
  const open = parsed.filter(([key]) => !Object.hasOwn(hookReplies, key))
  for (const [, ask] of open) {
    const lacks = findMissingForClient(exchange, ask)
    if (lacks !== undefined) return { error: findMissingCapability(ask, lacks) }
  }
  return { remaining: Object.fromEntries(open.map(([key]) => [key, all[key]])) }
}

/** Serializes input requests by key, in the form that this client reads. */
export function createInputRequests(
  entries: Iterable<readonly [string, { readonly ask: Ask }]>,
  client: ClientDescription,
): JsonObject {
  return Object.fromEntries([...entries].map(([key, { ask }]) => [key, toModernAsk(adaptRequest(ask, client).ask)]))
}

/** Converts the client's `inputResponses` entry for one input request to the form that the server reads. */
export function parseInputResponse(ask: Ask, result: JsonObject, client: ClientDescription): AskReply {
  return { result: adaptRequest(ask, client).convertResult(result) }
}
