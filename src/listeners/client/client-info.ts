import type { Choices, ClientDescription, RpcError } from '../../api/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Era } from '../../protocol/methods.ts'
import { META, MODERN_VERSIONS, hasMethod, isModern, negotiateLegacy } from '../../protocol/methods.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

const UNKNOWN = Object.freeze({ name: 'unknown', version: '' })

/** True if `_meta` names a protocol version, as modern messages do. */
export function claimsModern(params: JsonObject | undefined): boolean {
  const meta = params?._meta
  return isObject(meta) && meta[META.protocolVersion] !== undefined
}

/** Reads client info from the `_meta` of a modern request that passed `envelopeProblem`. */
export function parseModernClient(params: JsonObject | undefined): ClientDescription {
  const meta = params?._meta as JsonObject
  return {
    info: parseClientInfo(meta[META.clientInfo]),
    capabilities: meta[META.clientCapabilities] as JsonObject,
    version: meta[META.protocolVersion] as string,
    era: 'modern',
    logLevel: meta[META.logLevel] as string | undefined,
  }
}

/**
 * Reads client info from `initialize` params. Without params the client is "unknown" and gets the default version.
 */
export function parseLegacyClient(params: JsonObject | undefined): ClientDescription {
  return {
    info: parseClientInfo(params?.clientInfo),
    capabilities: isObject(params?.capabilities) ? params.capabilities : {},
    version: negotiateLegacy(params?.protocolVersion),
    era: 'legacy',
    logLevel: undefined,
  }
}

function parseClientInfo(value: unknown): ClientDescription['info'] {
  if (!isObject(value)) return UNKNOWN
  return { ...value, name: textOr(value.name, UNKNOWN.name), version: textOr(value.version, UNKNOWN.version) }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

/** Validates `initialize` params; undefined if they are valid. */
export function checkInitialize(params: JsonObject | undefined): RpcError | undefined {
  if (typeof params?.protocolVersion !== 'string') return createParamsError('"protocolVersion" must be a string')
  if (params.capabilities !== undefined && !isObject(params.capabilities))
    return createParamsError('"capabilities" must be an object')
  if (params.clientInfo !== undefined && !isObject(params.clientInfo))
    return createParamsError('"clientInfo" must be an object')
  return undefined
}

function createParamsError(message: string): RpcError {
  return rpcError(RPC.invalidParams, `Invalid params: initialize: ${message}`)
}

/** Returns an error for an unsupported modern version. */
export function checkVersion(params: JsonObject | undefined): RpcError | undefined {
  const requested = (params?._meta as JsonObject)[META.protocolVersion] as string
  return isModern(requested) ? undefined : createVersionError(requested)
}

export function createVersionError(requested: unknown): RpcError {
  return rpcError(RPC.unsupportedVersion, 'Unsupported protocol version', {
    supported: MODERN_VERSIONS,
    requested,
  })
}

/** Returns an error if this era has no such method; undefined if it has, or if the method is unknown. */
export function checkMethod(method: string, era: Era): RpcError | undefined {
  return hasMethod(method, era) ? undefined : rpcError(RPC.methodNotFound, `Method not found: ${method}`)
}

/** Parses the URL query, in which a client may choose how it is served; undefined if empty. */
export function parseChoices(url = ''): Choices | undefined {
  const query = url.indexOf('?')
  if (query < 0) return undefined
  // No prototype, as clients choose the names.
  return Object.assign(Object.create(null) as Choices, Object.fromEntries(new URLSearchParams(url.slice(query + 1))))
}
