import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Member } from '../json/members.ts'
import { editToPieces, parseMembers, getMemberValue } from '../json/members.ts'
import { OPEN_OBJECT } from '../json/scan.ts'
import type { Era, ClientVersion } from '../methods.ts'
import { LATEST_LEGACY_VERSION, META, STRUCTURED_SINCE, getNewestVersion } from '../methods.ts'
import type { Payload } from '../payload.ts'
import type { RpcError } from '../rpc-error.ts'
import { RPC } from '../rpc-error.ts'
import { adaptBlocks, adaptMessage } from './content-blocks.ts'
import { canOpenUrls, filterUnsafeUrls, appendUrls } from './client-requests.ts'

interface NotificationMessage {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Notifications that not every client knows: the era that has them, and since which of its versions. */
const LIMITED: ReadonlyMap<string, { readonly era: Era; readonly since: string }> = new Map([
  ['notifications/elicitation/complete', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks/status', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks', { era: 'modern', since: '' }],
  ['notifications/subscriptions/acknowledged', { era: 'modern', since: '' }],
])

/** The first version in which progress has words. */
const WORDS_SINCE = '2025-03-26'

/** A notification as this client reads it; undefined where it has none of the kind. What nobody specified passes. */
export function adaptNotification<Notification extends NotificationMessage>(
  notification: Notification,
  { era, version }: ClientVersion,
): Notification | undefined {
  const { method, params } = notification
  if (method === 'notifications/progress')
    return version >= WORDS_SINCE || params?.message === undefined
      ? notification
      : omitProgressMessage(notification)
  const limit = LIMITED.get(method)
  return limit === undefined || (limit.era === era && version >= limit.since) ? notification : undefined
}

function omitProgressMessage<Notification extends NotificationMessage>(
  notification: Notification,
): Notification {
  const { message: _message, ...params } = notification.params ?? {}
  return { ...notification, params }
}

/** Result members that only the modern era knows. */
const MODERN_MEMBERS: readonly string[] = ['resultType', 'ttlMs', 'cacheScope']

/** Functions that change the results of these methods where a version lacks what they hold. */
const CHANGES: ReadonlyMap<string, (source: ResultSource, version: string, edit: ResultEdit) => void> =
  new Map([
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

/** Parameters as a legacy server reads them: the modern envelope taken off, our progress token put in. */
export function toLegacyParams(
  params: JsonObject | undefined,
  progressToken: number | undefined,
): JsonObject | undefined {
  const meta = isObject(params?._meta) ? params._meta : undefined
  if (meta === undefined) return params
  const kept = Object.fromEntries(
    Object.entries(meta).filter(([key]) => !MODERN_META.has(key) && key !== 'progressToken'),
  )
  if (progressToken !== undefined) kept.progressToken = progressToken
  const { _meta, ...others } = params as JsonObject
  return Object.keys(kept).length === 0 ? others : { ...others, _meta: kept }
}

/** Codes that only the modern era has. */
const MODERN_CODES: ReadonlySet<number> = new Set([
  RPC.missingCapability,
  RPC.headerMismatch,
  RPC.unsupportedVersion,
])

/** An error as this legacy client reads it. Codes that only the modern era has become an internal error. */
export function toLegacyError(error: RpcError, reader = getNewestVersion('legacy'), method = ''): RpcError {
  if (MODERN_CODES.has(error.code)) return { ...error, code: RPC.internal }
  if (error.code === RPC.legacyUrlElicitation)
    return canOpenUrls(reader) ? filterUnsafeUrls(error) : appendUrls(error)
  if (method.startsWith('resources/') && isNoResource(error)) return { ...error, code: RPC.legacyNoResource }
  return error
}

/**
 * A tool call that fails for want of a capability, as a legacy client reads it: a result that its model can see, as that
 * era has no such error. Undefined for every other error.
 */
export function toLegacyFailure({ code, message, data }: RpcError, method: string): JsonObject | undefined {
  if (code !== RPC.missingCapability || method !== 'tools/call') return undefined
  const required = isObject(data) ? data.requiredCapabilities : undefined
  const wanted = required === undefined ? '' : ` – the client would need ${JSON.stringify(required)}`
  return { content: [{ type: 'text', text: message + wanted }], isError: true }
}

/** A modern server says it in the words of its specification: with the URI as data. */
function isNoResource({ code, data }: RpcError): boolean {
  return code === RPC.invalidParams && isObject(data) && typeof data.uri === 'string'
}

/** Changes to a result: members to drop, and the JSON texts of those to add. */
interface ResultEdit {
  readonly drop: Set<string>
  readonly add: string[]
}

/** A result of which the members are known, and whose wire form it is in. */
interface ResultSource {
  readonly bytes: Buffer
  readonly members: readonly Member[]
  readonly isLegacy: boolean
}

/**
 * A result as a legacy client of this version reads it. What a legacy server said passes as the bytes it came in where the
 * client speaks the newest legacy version, or has all that the result holds.
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
 * Legacy structured content is an object, and older than 2025-06-18 there is none. Returns the JSON text that the client
 * should have among the content instead; undefined when it gets the value as it is.
 */
function adaptStructured(
  { bytes, members, isLegacy }: ResultSource,
  version: string,
  edit: ResultEdit,
): string | undefined {
  const value = getMemberValue(bytes, members, 'structuredContent')
  if (value === undefined) return undefined
  if (version < STRUCTURED_SINCE) edit.drop.add('structuredContent')
  // Values from a legacy server are in the legacy form already, null included.
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
