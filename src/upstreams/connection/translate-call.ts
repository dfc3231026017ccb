import type { Answer, Call, ServerDescription } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { ALL_CAPABILITIES, normalizeCapabilities } from '../../protocol/era/capabilities.ts'
import { toLegacyParams, toModernParams, readTask, servesTasks, addTaskCapability } from '../../protocol/era/convert.ts'
import type { ModernClient } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isDeeperThan, isObject } from '../../protocol/json/json.ts'
import { decodeKey } from '../../protocol/json/json-members.ts'
import { MAX_DEPTH, OPEN_ARRAY, OPEN_OBJECT, scanArray, scanObject } from '../../protocol/json/scan-json.ts'
import type { RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import { parseServerMessage } from '../../protocol/jsonrpc.ts'
import type { Era } from '../../protocol/methods.ts'
import { getChangedKinds, LISTS, META, METHODS } from '../../protocol/methods.ts'
import { Payload } from '../../protocol/payload.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { tryParseJson } from '../../util/plain-data.ts'
import { formatPeerText } from '../../util/log.ts'

/** Methods whose results clients validate but that are forwarded as bytes, each with its list member. */
const REPAIRED_METHODS: ReadonlyMap<string, string | undefined> = new Map([
  ['tools/call', 'content'],
  ['tasks/result', 'content'],
  ['prompts/get', 'messages'],
  ['resources/read', 'contents'],
  ['completion/complete', undefined],
])
/** Members that contain block lists, at both levels. */
const LIST_MEMBERS: readonly string[] = ['content', 'messages', 'contents']
const NESTED_MEMBERS: readonly string[] = ['content', 'resource', 'annotations']
/** Optional result members; null in other members may be meaningful. */
const OPTIONAL: readonly string[] = ['_meta', 'isError', 'structuredContent', 'annotations', 'description']
const FIRST_OF_NULL = 0x6e

/**
 * Returns the result without invalid nulls and mistyped optional members, and with missing lists
 * added. Returns the same object if nothing changes.
 */
function repairResult(method: string, result: Payload): Payload {
  if (!REPAIRED_METHODS.has(method)) return result
  const isUnusual = result.isUnusual && REPAIRED_METHODS.get(method) !== undefined
  if (!isUnusual && (!result.hasNull || !hasNull(result))) return result
  return Payload.of(repairMembers(method, result), result.era).derive(result)
}

/** True if null in this member is dropped; modern structured content may be null. */
function isDropped(key: string, { era }: Payload): boolean {
  return LIST_MEMBERS.includes(key) || (OPTIONAL.includes(key) && !(era === 'modern' && key === 'structuredContent'))
}

function hasNull(result: Payload): boolean {
  const bytes = result.bytes()
  let isFound = false
  scanObject(bytes, 0, bytes.length, (keyStart, keyEnd, start, end) => {
    const key = decodeKey(bytes, keyStart, keyEnd)
    if (bytes[start] === FIRST_OF_NULL) isFound ||= isDropped(key, result)
    else if (!isFound && bytes[start] === OPEN_ARRAY && LIST_MEMBERS.includes(key))
      isFound = hasNullBlock(bytes.subarray(start, end))
  })
  return isFound
}

function hasNullBlock(list: Buffer): boolean {
  let isFound = false
  scanArray(list, (start, end) => {
    isFound ||= list[start] === OPEN_OBJECT && hasNullMember(list.subarray(start, end))
  })
  return isFound
}

function hasNullMember(block: Buffer): boolean {
  let isFound = false
  scanObject(block, 0, block.length, (keyStart, keyEnd, start, end) => {
    if (block[start] === FIRST_OF_NULL) isFound = true
    else if (block[start] === OPEN_OBJECT && NESTED_MEMBERS.includes(decodeKey(block, keyStart, keyEnd)))
      isFound ||= hasNullMember(block.subarray(start, end))
  })
  return isFound
}

function repairMembers(method: string, result: Payload): JsonObject {
  const value = result.value()
  const list = REPAIRED_METHODS.get(method)
  const members = Object.entries(value).flatMap<[string, unknown]>(([key, member]) => {
    if (key === list) return [[key, coerceToList(key, member).map(omitNullMembers)]]
    if (member === null && isDropped(key, result)) return []
    return isOfWrongType(key, member, result) ? [] : [[key, member]]
  })
  if (list !== undefined && !Object.hasOwn(value, list) && isComplete(value)) members.push([list, []])
  return Object.fromEntries(members)
}

/** False for a created task or an input request. */
function isComplete({ resultType = 'complete', task }: JsonObject): boolean {
  return resultType === 'complete' && !isObject(task)
}

/** Wraps a single entry, or a plain text, in a list. */
function coerceToList(key: string, member: unknown): readonly unknown[] {
  if (Array.isArray(member)) return member
  if (key === 'content' && typeof member === 'string') return [{ type: 'text', text: member }]
  return isObject(member) ? [member] : []
}

function isOfWrongType(key: string, member: unknown, { era }: Payload): boolean {
  if (key === 'isError') return typeof member !== 'boolean'
  // Modern structured content may have any type.
  return (key === '_meta' || (key === 'structuredContent' && era !== 'modern')) && !isObject(member)
}

function omitNullMembers(block: unknown): unknown {
  if (!isObject(block)) return block
  const members = Object.entries(block).flatMap<[string, unknown]>(([key, member]) => {
    if (member === null) return []
    return [[key, NESTED_MEMBERS.includes(key) ? omitNullMembers(member) : member]]
  })
  return Object.fromEntries(members)
}

const NO_PARAMS: JsonObject = Object.freeze({})

/** Translates call parameters to the server's era. */
export function createOutboundParams(
  call: Call,
  server: ServerDescription | undefined,
  id: number,
): JsonObject | undefined {
  const token = getProgressToken(call.params) === undefined ? undefined : id
  if (server?.era !== 'modern') return toLegacyParams(call.params, token)
  return toModernParams(call.params, describeModernClient(call, server), server.version, token)
}

/** Returns a call's progress token. */
export function getProgressToken(params: JsonObject | undefined): RpcId | undefined {
  const token = isObject(params?._meta) ? params._meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : undefined
}

/**
 * Describes the client to a modern server: only capabilities that the gateway supports. Lists are fetched once for
 * all clients.
 */
function describeModernClient({ method, exchange, mayBeTask }: Call, server: ServerDescription): ModernClient {
  const { client } = exchange.session
  const own = exchange.canAsk ? normalizeCapabilities(client) : NO_PARAMS
  const isList = METHODS.get(method)?.to === 'list'
  const capabilities = isList ? { ...own, ...ALL_CAPABILITIES } : own
  const isTasked = mayBeTask === true || isList || method.startsWith('tasks/')
  return {
    info: client.info,
    capabilities: isTasked && servesTasks(server) ? addTaskCapability(capabilities, 'modern') : capabilities,
    logLevel: client.logLevel,
  }
}

/** Parses a server's response to a call. Results remain raw bytes. */
export function translateResponse(response: RpcResponse, call: Call, server: ServerDescription | undefined): Answer {
  if (response.error !== undefined) return { error: response.error }
  if (response.result === undefined) return { error: rpcError(RPC.internal, 'the response has no result') }
  const result = repairResult(call.method, response.result)
  return interpretResult(result, response.resultType ?? 'complete', call, server)
}

function interpretResult(
  result: Payload,
  resultType: string,
  call: Call,
  server: ServerDescription | undefined,
): Answer {
  if (resultType === 'complete') return isTaskCreated(result, call) ? { task: result } : { result }
  if (resultType === 'input_required') return { input: result }
  if (resultType === 'task' && server !== undefined && servesTasks(server)) {
    if (call.method === 'tools/call') return { task: result }
    // Extension drafts return it from tasks/get as well.
    if (call.method === 'tasks/get') return { result }
  }
  return { error: rpcError(RPC.internal, `unsupported result type "${formatPeerText(resultType, 64)}"`) }
}

/** True if a legacy server created a task for a call: the task is nested in its result. */
function isTaskCreated(result: Payload, { mayBeTask, params }: Call): boolean {
  if (mayBeTask !== true || !isObject(params?.task) || result.era === 'modern') return false
  const value = result.value()
  return isObject(value.task) && readTask(value) !== undefined
}

/** Creates the answer for a request cancelled by its client. */
export function createCancelledAnswer(): { error: RpcError } {
  return { error: rpcError(RPC.internal, gatewayError('GW_CANCELLED').message, { code: 'GW_CANCELLED' }) }
}

/** Creates the same answer as a server response. */
export function createCancelledResponse(id: RpcId): RpcResponse {
  return { kind: 'response', id, result: undefined, resultType: undefined, ...createCancelledAnswer() }
}

const GLOBAL_METHODS: ReadonlySet<string> = new Set(['notifications/resources/updated', 'notifications/tasks/status'])

/** True for notifications about the whole server, on any stream. */
export function isGlobal(method: string): boolean {
  return GLOBAL_METHODS.has(method) || getChangedKinds(method).length > 0
}

/** Returns the subscription id that a notification names. */
export function getSubscriptionId(method: string, params: JsonObject | undefined): unknown {
  if (method === 'notifications/cancelled') return params?.requestId
  return isObject(params?._meta) ? params._meta[META.subscriptionId] : undefined
}

/** Returns the parameters without the subscription id. */
export function omitSubscriptionId(params: JsonObject | undefined): JsonObject | undefined {
  if (!isObject(params?._meta) || !(META.subscriptionId in params._meta)) return params
  const { [META.subscriptionId]: _, ...meta } = params._meta
  const { _meta, ...otherParams } = params
  return Object.keys(meta).length === 0 ? otherParams : { ...otherParams, _meta: meta }
}

/** Levels around a list entry: message, result and list. */
const LEVELS_AROUND_ENTRY = 3

/**
 * Replaces entries that nest too deep in a rejected list by their names, so that the others stay visible; undefined if
 * there are none.
 */
export function dropNestedEntries(method: string, bytes: Buffer, era: Era | undefined): RpcResponse | undefined {
  const list = Object.values(LISTS).find(row => row.method === method)
  const message = list && tryParseJson(bytes.toString('utf8'))
  const result = isObject(message) ? message.result : undefined
  const entries = list !== undefined && isObject(result) ? result[list.member] : undefined
  if (list === undefined || !Array.isArray(entries)) return undefined
  const isDeep = (entry: unknown): entry is JsonObject =>
    isObject(entry) && isDeeperThan(entry, MAX_DEPTH - LEVELS_AROUND_ENTRY)
  if (!entries.some(isDeep)) return undefined
  const flat = entries.map((entry: unknown) => (isDeep(entry) ? (entry[list.key] ?? null) : entry))
  const text = JSON.stringify({
    ...(message as JsonObject),
    result: { ...(result as JsonObject), [list.member]: flat },
  })
  const response = parseServerMessage(Buffer.from(text), era)
  return response.kind === 'response' ? response : undefined
}
