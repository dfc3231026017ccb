import type { Choices, ClientDescription, RpcError, Answer, Log, Notification } from '../../api/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Era, ClientVersion } from '../../protocol/methods.ts'
import { META, MODERN_VERSIONS, hasMethod, isModern, negotiateLegacy } from '../../protocol/methods.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import {
  adaptNotification,
  toLegacyError,
  toLegacyFailure,
  toLegacyResult,
  stampSubscription,
  toModernError,
  toModernResult,
} from '../../protocol/era/convert.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import { encodeError, encodeNotification, encodeResult, toJsonId, writeResult } from '../../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { Payload } from '../../protocol/payload.ts'

const UNKNOWN = Object.freeze({ name: 'unknown', version: '' })

/** True if `_meta` names a protocol version, as modern messages do. */
export function claimsModern(params: JsonObject | undefined): boolean {
  const meta = params?._meta
  return isObject(meta) && meta[META.protocolVersion] !== undefined
}

/** Reads client info from a modern request's `_meta` that passed `envelopeProblem`. */
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

/** Its answer is a stream that stays open. */
export const LISTEN_METHOD = 'subscriptions/listen'

/** Encodes an answer for the client's protocol version. */
export function encodeAnswer(
  id: RpcId,
  method: string,
  answer: Answer,
  reader: ClientVersion,
): Exclude<EncodedMessage, string> {
  if ('error' in answer) return encodeFailure(id, method, answer.error, reader)
  if (reader.era === 'legacy') {
    return writeResult(id, toLegacyResult(getPayload(answer), method, reader.version))
  }
  // Input requests and tasks are not cacheable, so encode them without a method.
  return writeResult(id, toModernResult(getPayload(answer), 'result' in answer ? method : ''))
}

export function getPayload(answer: Exclude<Answer, { error: RpcError }>): Payload {
  if ('result' in answer) return answer.result
  return 'input' in answer ? answer.input : answer.task
}

function encodeFailure(id: RpcId, method: string, error: RpcError, reader: ClientVersion): Buffer {
  const legacyFailure = reader.era === 'legacy' ? toLegacyFailure(error, method) : undefined
  if (legacyFailure !== undefined) return encodeResult(id, Buffer.from(JSON.stringify(legacyFailure)))
  return Buffer.from(encodeError(id, adaptError(error, reader, method)))
}

/** Encodes a notification; undefined if the client's version does not define it. */
export function encodeClientNotification(notification: Notification, reader: ClientVersion): string | undefined {
  const fitted = adaptNotification(notification, reader)
  return fitted && encodeNotification(fitted.method, fitted.params)
}

export function adaptError(error: RpcError, reader: ClientVersion, method?: string): RpcError {
  return reader.era === 'legacy' ? toLegacyError(error, reader, method) : toModernError(error)
}

/** Final answer to `subscriptions/listen`: carries the request id, and is graceful if the gateway ends the stream. */
export function createListenAnswer(answer: Answer, id: RpcId, isOurs: boolean): Answer {
  if ('result' in answer)
    return { result: Payload.of(stampSubscription(answer.result.value(), toJsonId(id)), answer.result.era) }
  return isOurs ? { result: Payload.of(stampSubscription({ resultType: 'complete' }, toJsonId(id))) } : answer
}

/** Answer to requests that a stopping gateway ends or refuses. */
export function createStoppingAnswer(): Extract<Answer, { error: RpcError }> {
  const error = gatewayError('GW_STOPPING')
  return {
    error: rpcError(RPC.internal, error.message, { code: error.code }),
    http: { status: 503, headers: { connection: 'close' } },
  }
}

/** Turns an exception into an answer without internals; logs unexpected exceptions. */
export function convertException(thrown: unknown, log: Log): { readonly error: RpcError; readonly status: number } {
  if (!(thrown instanceof GatewayError))
    log.error('listener failed', { cause: String((thrown as Error)?.stack ?? thrown) })
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL')
  return {
    error: rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code }),
    status: error.entry.http ?? 500,
  }
}
