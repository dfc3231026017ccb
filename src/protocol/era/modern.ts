import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import { editToPieces, parseMembers } from '../json/members.ts'
import { METHODS, META } from '../methods.ts'
import type { Payload } from '../payload.ts'
import type { RpcError } from '../rpc-error.ts'
import { RPC, rpcError } from '../rpc-error.ts'
import { appendUrls } from './client-requests.ts'

/** Client as the `_meta` of a modern request describes it. */
export interface ModernClient {
  readonly info: JsonObject
  readonly capabilities: JsonObject
  readonly logLevel: string | undefined
}

const NONE: ReadonlySet<string> = new Set()
/** Members dropped from a legacy result: its `resultType` means nothing here, and `complete` takes its place. */
const TYPE: ReadonlySet<string> = new Set(['resultType'])

/**
 * A result as a modern client reads it. Modern results pass as the bytes they came in, and of others the members that stay
 * are pieces of these: a large one is not copied.
 */
export function toModernResult(payload: Payload, method: string): Buffer | readonly Buffer[] {
  const bytes = payload.bytes()
  if (payload.era === 'modern') return bytes
  const members = parseMembers(bytes)
  const drop = payload.era === 'legacy' ? TYPE : NONE
  const known = new Set(members.map(({ key }) => key).filter(key => !drop.has(key)))
  return editToPieces(bytes, members, drop, encodeMissingMembers(method, known))
}

/** A result without freshness is stale at once and private (2026-07-28, caching). */
function encodeMissingMembers(method: string, known: ReadonlySet<string>): string {
  const members: string[] = []
  if (!known.has('resultType')) members.push('"resultType":"complete"')
  if (METHODS.get(method)?.cacheable === true) {
    if (!known.has('ttlMs')) members.push('"ttlMs":0')
    if (!known.has('cacheScope')) members.push('"cacheScope":"private"')
  }
  return members.join(',')
}

/** Parameters as a modern server reads them: with the envelope of this client, and our progress token. */
export function toModernParams(
  params: JsonObject | undefined,
  client: ModernClient,
  version: string,
  progressToken: number | undefined,
): JsonObject {
  const {
    progressToken: _token,
    [META.logLevel]: _level,
    ...passed
  } = isObject(params?._meta) ? params._meta : {}
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

/** An error as a modern client reads it. Implementation codes of old servers mean nothing here. */
export function toModernError(error: RpcError): RpcError {
  if (error.code === RPC.legacyNoResource) return { ...error, code: RPC.invalidParams }
  if (error.code === RPC.legacyUrlElicitation) return appendUrls(error)
  if (error.code <= -32000 && error.code >= -32019) {
    return rpcError(RPC.internal, error.message, { upstream: { code: error.code, data: error.data } })
  }
  return error
}

/** A notification of a `subscriptions/listen` stream, stamped with the id of the listen. */
export function stampSubscription(
  params: JsonObject | undefined,
  listenId: string | number | object,
): JsonObject {
  const meta = isObject(params?._meta) ? params._meta : {}
  return { ...params, _meta: { ...meta, [META.subscriptionId]: listenId } }
}

/** Finds the first fault in the `_meta` envelope of a modern request; undefined when there is none. */
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

/** RFC 5424 severities, least severe first. */
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

/** Tells whether a log message of this level reaches a client that asked for `wanted` and worse; unknown levels do. */
export function isLevelEnabled(level: unknown, wanted: string): boolean {
  const index = LOG_LEVELS.indexOf(String(level))
  return index < 0 || index >= LOG_LEVELS.indexOf(wanted)
}
