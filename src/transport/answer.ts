import type { Answer } from '../core/ports.ts'
import { gatewayError } from '../errors.ts'
import type { RpcId, RpcResponse } from '../protocol/jsonrpc.ts'
import { RPC, rpcError, type RpcError } from '../protocol/rpc-error.ts'
import { visible } from './visible.ts'

/** What a server's response means. Results stay the bytes they came in. */
export function answerOf(response: RpcResponse): Answer {
  if (response.error !== undefined) return { error: response.error }
  if (response.result === undefined)
    return { error: rpcError(RPC.internal, 'the server answered with nothing') }
  const type = response.resultType
  if (type === undefined || type === 'complete') return { result: response.result }
  if (type === 'input_required') return { input: response.result }
  return { error: rpcError(RPC.internal, `unsupported result type "${visible(type, 64)}"`) }
}

/** What a request answers that its client has cancelled. */
export function cancelledAnswer(): { error: RpcError } {
  return { error: rpcError(RPC.internal, gatewayError('GW_CANCELLED').message, { code: 'GW_CANCELLED' }) }
}

/** The same, in the form of a server's response. */
export function cancelled(id: RpcId): RpcResponse {
  return { kind: 'response', id, result: undefined, resultType: undefined, ...cancelledAnswer() }
}
