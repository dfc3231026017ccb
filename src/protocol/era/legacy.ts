import type { Payload } from '../payload.ts'
import { editObject, isObject, type JsonObject } from '../jsonrpc.ts'
import { META } from '../names.ts'
import { RPC, rpcError, type RpcError } from '../rpc-error.ts'

/** Result members that only the modern era knows. */
const MODERN_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const MODERN_META: ReadonlySet<string> = new Set([
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
])

/** A result as a legacy client reads it. Legacy results pass as the bytes they came in. */
export function toLegacyResult(payload: Payload): Buffer {
  return payload.era === 'legacy' ? payload.bytes() : editObject(payload.bytes(), MODERN_MEMBERS, '')
}

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

/** An error as a legacy client reads it: codes that only the modern era has become an internal error. */
export function toLegacyError(error: RpcError): RpcError {
  if (
    error.code === RPC.missingCapability ||
    error.code === RPC.headerMismatch ||
    error.code === RPC.unsupportedVersion
  ) {
    return rpcError(RPC.internal, error.message, error.data)
  }
  return error
}
