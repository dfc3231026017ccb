import type { Answer, Log, Notification, RpcError } from '../../api/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import {
  adaptNotification,
  toLegacyError,
  toLegacyFailure,
  toLegacyResult,
} from '../../protocol/era/legacy.ts'
import { stampSubscription, toModernError, toModernResult } from '../../protocol/era/modern.ts'
import type { Reader } from '../../protocol/methods.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import {
  encodeError,
  encodeNotification,
  encodeResult,
  idAsJson,
  writeResult,
} from '../../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../../util/written.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

/** The method whose answer is a stream that stays open. */
export const LISTEN_METHOD = 'subscriptions/listen'

/** An answer as the message its client reads. */
export function encodeAnswer(
  id: RpcId,
  method: string,
  answer: Answer,
  reader: Reader,
): Exclude<EncodedMessage, string> {
  if ('error' in answer) return encodeFailure(id, method, answer.error, reader)
  if (reader.era === 'legacy') {
    return writeResult(id, toLegacyResult(getPayload(answer), method, reader.version))
  }
  // A wish for input and a task are never cacheable, so they are written as no method's result.
  return writeResult(id, toModernResult(getPayload(answer), 'result' in answer ? method : ''))
}

/** The payload of an answer that is no error. */
export function getPayload(answer: Exclude<Answer, { error: RpcError }>): Payload {
  if ('result' in answer) return answer.result
  return 'input' in answer ? answer.input : answer.task
}

function encodeFailure(id: RpcId, method: string, error: RpcError, reader: Reader): Buffer {
  const shown = reader.era === 'legacy' ? toLegacyFailure(error, method) : undefined
  if (shown !== undefined) return encodeResult(id, Buffer.from(JSON.stringify(shown)))
  return Buffer.from(encodeError(id, adaptError(error, reader, method)))
}

/** A notification as the message its client reads; undefined where its version has none of the kind. */
export function encodeClientNotification(notification: Notification, reader: Reader): string | undefined {
  const fitted = adaptNotification(notification, reader)
  return fitted && encodeNotification(fitted.method, fitted.params)
}

/** An error as this client reads it. */
export function adaptError(error: RpcError, reader: Reader, method?: string): RpcError {
  return reader.era === 'legacy' ? toLegacyError(error, reader, method) : toModernError(error)
}

/** The last answer of a `subscriptions/listen`: with its id on the result, and graceful when it is we who end it. */
export function createListenAnswer(answer: Answer, id: RpcId, isOurs: boolean): Answer {
  if ('result' in answer)
    return { result: Payload.of(stampSubscription(answer.result.value(), idAsJson(id)), answer.result.era) }
  return isOurs ? { result: Payload.of(stampSubscription({ resultType: 'complete' }, idAsJson(id))) } : answer
}

/** The answer of a request that ends because the gateway stops; the same as for those that come too late. */
export function createStoppingAnswer(): Extract<Answer, { error: RpcError }> {
  const error = gatewayError('GW_STOPPING')
  return {
    error: rpcError(RPC.internal, error.message, { code: error.code }),
    http: { status: 503, headers: { connection: 'close' } },
  }
}

/** Turns an exception into an answer without our internals in it; one that nobody threw on purpose is logged. */
export function createErrorAnswer(
  thrown: unknown,
  log: Log,
): { readonly error: RpcError; readonly status: number } {
  if (!(thrown instanceof GatewayError))
    log.error('a listener failed', { cause: String((thrown as Error)?.stack ?? thrown) })
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL')
  return {
    error: rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code }),
    status: error.entry.http ?? 500,
  }
}
