import type { Answer, Log, Notification, RpcError } from '../../api/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import {
  adaptNotification,
  toLegacyError,
  toLegacyFailure,
  toLegacyResult,
} from '../../protocol/era/convert-to-legacy.ts'
import { stampSubscription, toModernError, toModernResult } from '../../protocol/era/convert-to-modern.ts'
import type { ClientVersion } from '../../protocol/methods.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import { encodeError, encodeNotification, encodeResult, toJsonId, writeResult } from '../../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../../util/encoded-message.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

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
