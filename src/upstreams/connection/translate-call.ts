import type { Answer, Call, ServerSide } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { withoutDeepEntries } from '../../protocol/broken-message.ts'
import { ALL_CAPABILITIES, neutralCapabilities } from '../../protocol/era/capabilities.ts'
import { toLegacyParams } from '../../protocol/era/legacy.ts'
import { type ModernClient, toModernParams } from '../../protocol/era/modern.ts'
import { readTask, servesTasks, withTasks } from '../../protocol/era/tasks.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { parseServerMessage, type RpcId, type RpcResponse } from '../../protocol/jsonrpc.ts'
import { type Era, META, METHODS, getChangedKinds } from '../../protocol/methods.ts'
import type { Payload } from '../../protocol/payload.ts'
import { repairResult } from '../../protocol/repair/result.ts'
import { RPC, rpcError, type RpcError } from '../../protocol/rpc-error.ts'
import type { Drops } from '../../transport/unexpected-messages.ts'
import { visible } from '../../util/log.ts'

const NOTHING: JsonObject = Object.freeze({})

/** The parameters of a call as its server's era writes them. */
export function outboundParams(
  call: Call,
  server: ServerSide | undefined,
  id: number,
): JsonObject | undefined {
  const token = clientToken(call.params) === undefined ? undefined : id
  if (server?.era !== 'modern') return toLegacyParams(call.params, token)
  return toModernParams(call.params, modernClient(call, server), server.version, token)
}

/** The token under which the client of a call wants its progress. */
export function clientToken(params: JsonObject | undefined): RpcId | undefined {
  const token = isObject(params?._meta) ? params._meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : undefined
}

/** The client as a modern server may know it: only what we can carry to it. Lists are made for all clients at once. */
function modernClient({ method, exchange, mayBeTask }: Call, server: ServerSide): ModernClient {
  const { client } = exchange.session
  const own = exchange.canAsk ? neutralCapabilities(client) : NOTHING
  const isList = METHODS.get(method)?.to === 'list'
  const capabilities = isList ? { ...own, ...ALL_CAPABILITIES } : own
  const isTasked = mayBeTask === true || isList || method.startsWith('tasks/')
  return {
    info: client.info,
    capabilities: isTasked && servesTasks(server) ? withTasks(capabilities, 'modern') : capabilities,
    logLevel: client.logLevel,
  }
}

/** Reads a server's response to a call. Results stay the bytes they came in. */
export function answerOf(response: RpcResponse, call: Call, server: ServerSide | undefined): Answer {
  if (response.error !== undefined) return { error: response.error }
  if (response.result === undefined)
    return { error: rpcError(RPC.internal, 'the server answered with nothing') }
  const result = repairResult(call.method, response.result)
  return meant(result, response.resultType ?? 'complete', call, server)
}

function meant(result: Payload, resultType: string, call: Call, server: ServerSide | undefined): Answer {
  if (resultType === 'complete') return isCreated(result, call) ? { task: result } : { result }
  if (resultType === 'input_required') return { input: result }
  if (resultType === 'task' && server !== undefined && servesTasks(server)) {
    if (call.method === 'tools/call') return { task: result }
    // Drafts of the extension say it of a task that was only looked at.
    if (call.method === 'tasks/get') return { result }
  }
  return { error: rpcError(RPC.internal, `unsupported result type "${visible(resultType, 64)}"`) }
}

/** Tells if a legacy server took a call as the task that it was to be: it nests it in its result. */
function isCreated(result: Payload, { mayBeTask, params }: Call): boolean {
  if (mayBeTask !== true || !isObject(params?.task) || result.era === 'modern') return false
  const value = result.value()
  return isObject(value.task) && readTask(value) !== undefined
}

/** The answer of a request that its client has cancelled. */
export function cancelledAnswer(): { error: RpcError } {
  return { error: rpcError(RPC.internal, gatewayError('GW_CANCELLED').message, { code: 'GW_CANCELLED' }) }
}

/** The answer of a cancelled request, in the form of a server's response. */
export function cancelled(id: RpcId): RpcResponse {
  return { kind: 'response', id, result: undefined, resultType: undefined, ...cancelledAnswer() }
}

/** A list that was refused, without the entries that nest too deep: one of them does not hide the others. */
export function shortenedList(
  method: string,
  bytes: Buffer,
  era: Era | undefined,
  drops: Drops,
): RpcResponse | undefined {
  if (METHODS.get(method)?.to !== 'list') return undefined
  const { bytes: rest, withheld } = withoutDeepEntries(bytes)
  const message = withheld.length === 0 ? undefined : parseServerMessage(rest, era)
  if (message?.kind !== 'response') return undefined
  for (const entry of withheld) drops.count('entry', () => entry.toString('utf8', 0, 400))
  return message
}

const GLOBAL: ReadonlySet<string> = new Set(['notifications/resources/updated', 'notifications/tasks/status'])

/** Tells a notification about the server as a whole, whatever stream it came on. */
export function isGlobal(method: string): boolean {
  return GLOBAL.has(method) || getChangedKinds(method).length > 0
}

/** The subscription that a notification names. */
export function subscriptionOf(method: string, params: JsonObject | undefined): unknown {
  if (method === 'notifications/cancelled') return params?.requestId
  return isObject(params?._meta) ? params._meta[META.subscriptionId] : undefined
}

/** A notification's parameters without the id of the subscription that brought it. */
export function withoutSubscription(params: JsonObject | undefined): JsonObject | undefined {
  if (!isObject(params?._meta) || !(META.subscriptionId in params._meta)) return params
  const { [META.subscriptionId]: _, ...meta } = params._meta
  const { _meta, ...others } = params
  return Object.keys(meta).length === 0 ? others : { ...others, _meta: meta }
}
