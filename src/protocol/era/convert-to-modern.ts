import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import { editToPieces, parseMembers } from '../json/json-members.ts'
import { METHODS, META } from '../methods.ts'
import type { Payload } from '../payload.ts'
import type { RpcError } from '../rpc-error.ts'
import { RPC, rpcError } from '../rpc-error.ts'
import { appendUrls } from './client-requests.ts'

/** Client from the `_meta` of a modern request. */
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
  if (METHODS.get(method)?.cacheable === true) {
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

/** Validates the `_meta` envelope of a modern request; returns the first error, or undefined. */
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
