import type { Call, ServerSide } from '../../api/index.ts'
import { ALL_CAPABILITIES, neutralCapabilities } from '../../protocol/era/capabilities.ts'
import { toLegacyParams } from '../../protocol/era/legacy.ts'
import { type ModernClient, toModernParams } from '../../protocol/era/modern.ts'
import { servesTasks, withTasks } from '../../protocol/era/tasks.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import { METHODS, kindsChangedBy } from '../../protocol/methods.ts'
import { META } from '../../protocol/names.ts'

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

/** The token under which the client of a call wants to hear of its progress. */
export function clientToken(params: JsonObject | undefined): RpcId | undefined {
  const token = isObject(params?._meta) ? params._meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : undefined
}

/** What a modern server may know of the client: only what we can carry to it. Lists are made for all clients at once. */
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

const GLOBAL: ReadonlySet<string> = new Set(['notifications/resources/updated', 'notifications/tasks/status'])

/** Whether a notification is about the server as a whole, whatever stream it came on. */
export function isGlobal(method: string): boolean {
  return GLOBAL.has(method) || kindsChangedBy(method).length > 0
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
