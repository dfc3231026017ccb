import type { JsonObject } from '../protocol/json/json.ts'
import { Payload } from '../protocol/payload.ts'
import { rpcError } from '../protocol/rpc-error.ts'
import type { Answer, HttpErrorResponse } from './exchange.ts'

/**
 * An answer that refuses. Use −32602 for what the caller did wrong; the range −32000…−32099 is the protocol's. With
 * `http` the response over HTTP has that status and those headers too, where it carries nothing else.
 */
export function refuse(code: number, message: string, data?: unknown, http?: HttpErrorResponse): Answer {
  const error = rpcError(code, message, data)
  return http === undefined ? { error } : { error, http }
}

/** An answer of the plugin's own making: the `result` of the method. */
export function answer(result: JsonObject): Answer {
  return { result: Payload.of(result) }
}

/** The answer of an upstream of the plugin's own: a complete result, as a server of the modern era gives it. */
export function createUpstreamAnswer(result: JsonObject): Answer {
  return { result: Payload.of({ resultType: 'complete', ...result }, 'modern') }
}

/** The result of a tool that says what went wrong, where the model reads it. */
export function toolError(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}
