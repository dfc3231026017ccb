import { isObject, type JsonObject } from '../json/json.ts'
import { META } from '../names.ts'
import { RPC, type RpcError } from '../rpc-error.ts'
import { newestReader } from './reader.ts'
import { canOpenUrls, withSafeUrls, withUrls } from './url-elicitation.ts'

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
  const { _meta, ...rest } = params as JsonObject
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept }
}

/** Codes that only the modern era has. */
const MODERN_CODES: ReadonlySet<number> = new Set([
  RPC.missingCapability,
  RPC.headerMismatch,
  RPC.unsupportedVersion,
])

/** An error as this legacy client reads it. Codes that only the modern era has become an internal error. */
export function toLegacyError(error: RpcError, reader = newestReader('legacy'), method = ''): RpcError {
  if (MODERN_CODES.has(error.code)) return { ...error, code: RPC.internal }
  if (error.code === RPC.legacyUrlElicitation)
    return canOpenUrls(reader) ? withSafeUrls(error) : withUrls(error)
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
