import type { JsonObject } from '../protocol/json/json.ts'
import { Payload } from '../protocol/payload.ts'
import { rpcError } from '../protocol/rpc-error.ts'
import type { Answer, HttpErrorResponse } from './exchange.ts'

/**
 * Creates an answer that refuses the request. Use −32602 for caller mistakes; −32000…−32099 is reserved by the
 * protocol. `http` sets the HTTP status and headers if the response carries nothing else.
 */
export function refuse(code: number, message: string, data?: unknown, http?: HttpErrorResponse): Answer {
  const error = rpcError(code, message, data)
  return http === undefined ? { error } : { error, http }
}

/** Creates an answer with the `result` of the method. */
export function answer(result: JsonObject): Answer {
  return { result: Payload.of(result) }
}

/** Creates an answer for a plugin's own upstream: a complete result in modern form. */
export function createUpstreamAnswer(result: JsonObject): Answer {
  return { result: Payload.of({ resultType: 'complete', ...result }, 'modern') }
}

/** Creates a tool result that reports an error to the model. */
export function toolError(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}
