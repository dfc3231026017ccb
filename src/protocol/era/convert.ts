import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Member } from '../json/json-members.ts'
import { editToPieces, parseMembers, getMemberValue } from '../json/json-members.ts'
import { OPEN_OBJECT } from '../json/scan-json.ts'
import type { Era, ClientVersion } from '../methods.ts'
import { EXTENSION_METHODS, LATEST_LEGACY_VERSION, META, METHODS } from '../methods.ts'
import { getNewestVersion, STRUCTURED_SINCE } from '../methods.ts'
import type { Payload } from '../payload.ts'
import type { RpcError } from '../rpc-error.ts'
import { RPC, rpcError } from '../rpc-error.ts'
import { adaptBlocks, adaptMessage } from './content-blocks.ts'
import { supportsUrlElicitationError, filterUnsafeUrls, appendUrls } from './client-requests.ts'

interface NotificationMessage {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Notifications with limited support: their era and first version. */
const LIMITED: ReadonlyMap<string, { readonly era: Era; readonly since: string }> = new Map([
  ['notifications/elicitation/complete', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks/status', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks', { era: 'modern', since: '' }],
  ['notifications/subscriptions/acknowledged', { era: 'modern', since: '' }],
])

/** First version with a progress `message`. */
const WORDS_SINCE = '2025-03-26'

/**
 * Converts a notification for a client; undefined if its version does not support it. Unspecified notifications pass
 * unchanged.
 */
export function adaptNotification<Notification extends NotificationMessage>(
  notification: Notification,
  { era, version }: ClientVersion,
): Notification | undefined {
  const { method, params } = notification
  if (method === 'notifications/progress')
    return version >= WORDS_SINCE || params?.message === undefined ? notification : omitProgressMessage(notification)
  const limit = LIMITED.get(method)
  return limit === undefined || (limit.era === era && version >= limit.since) ? notification : undefined
}

function omitProgressMessage<Notification extends NotificationMessage>(notification: Notification): Notification {
  const { message: _message, ...params } = notification.params ?? {}
  return { ...notification, params }
}

/** Modern-only result members. */
const MODERN_MEMBERS: readonly string[] = ['resultType', 'ttlMs', 'cacheScope']

/** Converters for results with members that a version lacks. */
const CHANGES: ReadonlyMap<string, (source: ResultSource, version: string, edit: ResultEdit) => void> = new Map([
  ['tools/call', adaptToolResult],
  ['tasks/result', adaptToolResult],
  ['prompts/get', adaptPrompt],
])

const EMPTY_LIST = Buffer.from('[]')

const MODERN_META: ReadonlySet<string> = new Set([
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
])

/** Converts parameters for a legacy server: removes the modern envelope, sets our progress token. */
export function toLegacyParams(
  params: JsonObject | undefined,
  progressToken: number | undefined,
): JsonObject | undefined {
  const meta = isObject(params?._meta) ? params._meta : undefined
  if (meta === undefined) return params
  const retainedMeta = Object.fromEntries(
    Object.entries(meta).filter(([key]) => !MODERN_META.has(key) && key !== 'progressToken'),
  )
  if (progressToken !== undefined) retainedMeta.progressToken = progressToken
  const { _meta, ...otherParams } = params as JsonObject
  return Object.keys(retainedMeta).length === 0 ? otherParams : { ...otherParams, _meta: retainedMeta }
}

/** Modern-only error codes. */
const MODERN_CODES: ReadonlySet<number> = new Set([RPC.missingCapability, RPC.headerMismatch, RPC.unsupportedVersion])

/** Converts an error for a legacy client. Modern-only codes become an internal error. */
export function toLegacyError(error: RpcError, reader = getNewestVersion('legacy'), method = ''): RpcError {
  if (MODERN_CODES.has(error.code)) return { ...error, code: RPC.internal }
  if (error.code === RPC.legacyUrlElicitation)
    return supportsUrlElicitationError(reader) ? filterUnsafeUrls(error) : appendUrls(error)
  if (method.startsWith('resources/') && isNoResource(error)) return { ...error, code: RPC.legacyNoResource }
  return error
}

/**
 * Converts a missing-capability error of a tool call to a tool result for legacy clients, so that the model can read
 * it; undefined for other errors.
 */
export function toLegacyFailure({ code, message, data }: RpcError, method: string): JsonObject | undefined {
  if (code !== RPC.missingCapability || method !== 'tools/call') return undefined
  const required = isObject(data) ? data.requiredCapabilities : undefined
  const suffix = required === undefined ? '' : ` – required client capabilities: ${JSON.stringify(required)}`
  return { content: [{ type: 'text', text: message + suffix }], isError: true }
}

/** Modern servers report a missing resource as invalid params with the URI as data. */
function isNoResource({ code, data }: RpcError): boolean {
  return code === RPC.invalidParams && isObject(data) && typeof data.uri === 'string'
}

/** Changes to a result: members to drop, and JSON texts to add. */
interface ResultEdit {
  readonly drop: Set<string>
  readonly add: string[]
}

/** Result with parsed members and its era. */
interface ResultSource {
  readonly bytes: Buffer
  readonly members: readonly Member[]
  readonly isLegacy: boolean
}

/**
 * Converts a result for a legacy client. Legacy results are forwarded byte for byte if the client supports all their
 * members.
 */
export function toLegacyResult(
  payload: Payload,
  method = '',
  version = LATEST_LEGACY_VERSION,
): Buffer | readonly Buffer[] {
  const bytes = payload.bytes()
  const isLegacy = payload.era === 'legacy'
  const change = CHANGES.get(method)
  if (isLegacy && (change === undefined || version >= LATEST_LEGACY_VERSION)) return bytes
  const members = parseMembers(bytes)
  const edit: ResultEdit = { drop: new Set(isLegacy ? [] : MODERN_MEMBERS), add: [] }
  change?.({ bytes, members, isLegacy }, version, edit)
  if (edit.add.length === 0 && !members.some(({ key }) => edit.drop.has(key))) return bytes
  return editToPieces(bytes, members, edit.drop, edit.add.join(','))
}

function adaptToolResult(source: ResultSource, version: string, edit: ResultEdit): void {
  const content = getMemberValue(source.bytes, source.members, 'content')
  const copy = adaptStructured(source, version, edit)
  if (copy === undefined && version >= LATEST_LEGACY_VERSION) return
  const blocks = adaptBlocks(content ?? EMPTY_LIST, version)
  if (blocks === undefined) return
  const isCopied = copy !== undefined && !blocks.hasText
  if (!isCopied && !blocks.isChanged) return
  const parts = blocks.encodeBlocks()
  if (isCopied) parts.push(JSON.stringify({ type: 'text', text: copy }))
  replaceMember(edit, 'content', `[${parts.join(',')}]`)
}

/**
 * Structured content must be an object in the legacy era, and does not exist before 2025-06-18. Returns JSON text to
 * add to the content instead; undefined if the value is forwarded.
 */
function adaptStructured(
  { bytes, members, isLegacy }: ResultSource,
  version: string,
  edit: ResultEdit,
): string | undefined {
  const value = getMemberValue(bytes, members, 'structuredContent')
  if (value === undefined) return undefined
  if (version < STRUCTURED_SINCE) edit.drop.add('structuredContent')
  // Legacy servers already send the legacy form, including null.
  else if (isLegacy || value[0] === OPEN_OBJECT) return undefined
  const text = value.toString('utf8')
  if (version >= STRUCTURED_SINCE) replaceMember(edit, 'structuredContent', `{"result":${text}}`)
  return isLegacy && text === 'null' ? undefined : text
}

function adaptPrompt({ bytes, members }: ResultSource, version: string, edit: ResultEdit): void {
  if (version >= LATEST_LEGACY_VERSION) return
  const text = getMemberValue(bytes, members, 'messages')?.toString('utf8')
  const messages: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!Array.isArray(messages)) return
  const changed = (messages as unknown[]).map(message => adaptMessage(message, version))
  if (changed.some((message, index) => message !== messages[index]))
    replaceMember(edit, 'messages', JSON.stringify(changed))
}

function replaceMember({ drop, add }: ResultEdit, key: string, text: string): void {
  drop.add(key)
  add.push(`"${key}":${text}`)
}

/** Client from a modern request's `_meta`. */
export interface ModernClient {
  readonly info: JsonObject
  readonly capabilities: JsonObject
  readonly logLevel: string | undefined
}

const NONE: ReadonlySet<string> = new Set()
/** Members dropped from a legacy result: `resultType` is undefined there, and `complete` replaces it. */
const TYPE: ReadonlySet<string> = new Set(['resultType'])

/**
 * Converts a result for a modern client. Modern results are forwarded byte for byte; members of other results are
 * spliced without a copy.
 */
export function toModernResult(payload: Payload, method: string): Buffer | readonly Buffer[] {
  const bytes = payload.bytes()
  if (payload.era === 'modern') return bytes
  const { parsed } = payload
  if (parsed !== undefined && !Object.hasOwn(parsed, 'resultType')) {
    const added = encodeMissingMembers(method, key => Object.hasOwn(parsed, key))
    const isEmpty = Object.keys(parsed).length === 0
    return [Buffer.from(isEmpty ? `{${added}` : `{${added},`), bytes.subarray(1)]
  }
  const members = parseMembers(bytes)
  const drop = payload.era === 'legacy' ? TYPE : NONE
  const existingKeys = new Set(members.map(({ key }) => key).filter(key => !drop.has(key)))
  const added = encodeMissingMembers(method, key => existingKeys.has(key))
  return editToPieces(bytes, members, drop, added)
}

/** A result without freshness is stale immediately and private (2026-07-28, caching). */
function encodeMissingMembers(method: string, has: (key: string) => boolean): string {
  const members: string[] = []
  if (!has('resultType')) members.push('"resultType":"complete"')
  if ((METHODS.get(method) ?? EXTENSION_METHODS.get(method))?.cacheable === true) {
    if (!has('ttlMs')) members.push('"ttlMs":0')
    if (!has('cacheScope')) members.push('"cacheScope":"private"')
  }
  return members.join(',')
}

/** Converts parameters for a modern server, with this client's envelope and our progress token. */
export function toModernParams(
  params: JsonObject | undefined,
  client: ModernClient,
  version: string,
  progressToken: number | undefined,
): JsonObject {
  const { progressToken: _token, [META.logLevel]: _level, ...passed } = isObject(params?._meta) ? params._meta : {}
  const meta: JsonObject = {
    ...passed,
    [META.protocolVersion]: version,
    [META.clientInfo]: client.info,
    [META.clientCapabilities]: client.capabilities,
  }
  if (progressToken !== undefined) meta.progressToken = progressToken
  if (client.logLevel !== undefined) meta[META.logLevel] = client.logLevel
  return { ...params, _meta: meta }
}

/** Converts an error for a modern client. Implementation codes from old servers have no meaning here. */
export function toModernError(error: RpcError): RpcError {
  if (error.code === RPC.legacyNoResource) return { ...error, code: RPC.invalidParams }
  if (error.code === RPC.legacyUrlElicitation) return appendUrls(error)
  if (error.code <= -32000 && error.code >= -32019) {
    return rpcError(RPC.internal, error.message, { upstream: { code: error.code, data: error.data } })
  }
  return error
}

/** Adds the listen id to a notification on a `subscriptions/listen` stream. */
export function stampSubscription(params: JsonObject | undefined, listenId: string | number | object): JsonObject {
  const meta = isObject(params?._meta) ? params._meta : {}
  return { ...params, _meta: { ...meta, [META.subscriptionId]: listenId } }
}

/** Validates a modern request's `_meta` envelope; returns the first error, or undefined. */
export function findEnvelopeError(params: JsonObject | undefined): RpcError | undefined {
  const meta = params?._meta
  if (!isObject(meta)) return rpcError(RPC.invalidParams, 'Invalid params: _meta is missing')
  const capabilities = meta[META.clientCapabilities]
  if (typeof meta[META.protocolVersion] !== 'string') return createMissingError(META.protocolVersion)
  if (!isObject(capabilities)) return createMissingError(META.clientCapabilities)
  const info = meta[META.clientInfo]
  if (info !== undefined && !isObject(info))
    return rpcError(RPC.invalidParams, `Invalid params: _meta["${META.clientInfo}"] must be an object`)
  const level = meta[META.logLevel]
  if (level !== undefined && !LOG_LEVELS.includes(level as string)) {
    return rpcError(
      RPC.invalidParams,
      `Invalid params: _meta["${META.logLevel}"] must be one of ${LOG_LEVELS.join(', ')}`,
    )
  }
  return undefined
}

function createMissingError(key: string): RpcError {
  return rpcError(RPC.invalidParams, `Invalid params: _meta["${key}"] is missing or malformed`)
}

/** RFC 5424 severities, lowest first. */
export const LOG_LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** Returns true if a log message passes the client's minimum level `minLevel`; unknown levels pass. */
export function isLevelEnabled(level: unknown, minLevel: string): boolean {
  const index = LOG_LEVELS.indexOf(String(level))
  return index < 0 || index >= LOG_LEVELS.indexOf(minLevel)
}

/** Tasks extension (2026-07-28). */
export const TASKS = 'io.modelcontextprotocol/tasks'
/** Capabilities in error −32021 for a client that has not declared the extension. */
export const TASKS_REQUIRED: JsonObject = Object.freeze({ extensions: { [TASKS]: {} } })

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

const STATUSES: ReadonlySet<string> = new Set(['working', 'input_required', 'completed', 'failed', 'cancelled'])

/** Task in neutral form: flat, with units in the names, as in 2026-07-28. */
export interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** From `createdAt`; null means unlimited. */
  readonly ttlMs: number | null
  readonly pollIntervalMs?: number
}

/** Parses a task in either form, nested in `task` or flat; undefined if invalid. */
export function readTask(value: JsonObject): TaskState | undefined {
  const task = isObject(value.task) ? value.task : value
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = task
  if (typeof taskId !== 'string' || !isStatus(status)) return undefined
  const pollIntervalMs = parseLength(task.pollIntervalMs ?? task.pollInterval)
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    createdAt: String(createdAt),
    lastUpdatedAt: String(lastUpdatedAt ?? createdAt),
    ttlMs: parseLength(task.ttlMs ?? task.ttl) ?? null,
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
  }
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === 'string' && STATUSES.has(value)
}

function parseLength(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.round(value) : undefined
}

/** Converts a task to 2025-11-25. */
export function toLegacyTask({ ttlMs, pollIntervalMs, ...same }: TaskState): JsonObject {
  return { ...same, ttl: ttlMs, ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }) }
}

/** Returns true for a final status. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Returns true if client or modern server capabilities declare the extension. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS])
}

/** Returns true if a server runs tool calls as tasks, as defined in its era. */
export function servesTasks({ era, capabilities }: { era: Era; capabilities: JsonObject }): boolean {
  if (era === 'modern') return declaresTasks(capabilities)
  const { tasks } = capabilities
  const requests = isObject(tasks) && isObject(tasks.requests) ? tasks.requests : {}
  return isObject(requests.tools) && requests.tools.call !== undefined
}

/** Returns true if a client version can support tasks. */
export function versionHasTasks({ era, version }: { era: Era; version: string }): boolean {
  return era === 'modern' || version >= LATEST_LEGACY_VERSION
}

/** Adds the task capability for an era. */
export function addTaskCapability(capabilities: JsonObject, era: Era): JsonObject {
  if (era === 'modern') {
    const extensions = isObject(capabilities.extensions) ? capabilities.extensions : {}
    return { ...capabilities, extensions: { ...extensions, [TASKS]: {} } }
  }
  return { ...capabilities, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
}

/** Returns the related task id in a 2025-11-25 message. */
export function getRelatedTask(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[META.relatedTask] : undefined
  return isObject(related) ? related.taskId : undefined
}

/** Replaces the related task id, if there is one. */
export function setRelatedTask(taskId: string, value: JsonObject): JsonObject {
  const meta = isObject(value._meta) ? value._meta : {}
  if (meta[META.relatedTask] === undefined) return value
  return { ...value, _meta: { ...meta, [META.relatedTask]: { taskId } } }
}

/** Removes the related task if the id is sent separately. */
export function removeRelatedTask(value: JsonObject): JsonObject {
  if (!isObject(value._meta) || value._meta[META.relatedTask] === undefined) return value
  const { [META.relatedTask]: _related, ...meta } = value._meta
  const { _meta, ...otherMembers } = value
  return Object.keys(meta).length === 0 ? otherMembers : { ...otherMembers, _meta: meta }
}
