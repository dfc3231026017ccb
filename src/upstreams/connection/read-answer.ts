import type { Answer, Call, ServerSide } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { readTask, servesTasks } from '../../protocol/era/tasks.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import type { Payload } from '../../protocol/payload.ts'
import { RPC, type RpcError, rpcError } from '../../protocol/rpc-error.ts'
import { visible } from '../../transport/printable.ts'

/** What a server's response to a call means. Results stay the bytes they came in. */
export function answerOf(response: RpcResponse, call: Call, server: ServerSide | undefined): Answer {
  if (response.error !== undefined) return { error: response.error }
  if (response.result === undefined)
    return { error: rpcError(RPC.internal, 'the server answered with nothing') }
  return meant(response.result, response.resultType ?? 'complete', call, server)
}

function meant(result: Payload, resultType: string, call: Call, server: ServerSide | undefined): Answer {
  if (resultType === 'complete') return isCreated(result, call) ? { task: result } : { result }
  if (resultType === 'input_required') return { input: result }
  if (resultType === 'task' && server !== undefined && servesTasks(server)) {
    if (call.method === 'tools/call') return { task: result }
    // Drafts of the extension say it of a task that was only looked at.
    if (call.method === 'tasks/get') return { result }
  }
  return { error: rpcError(RPC.internal, `unsupported result type "${visible(resultType, 64)}"`) }
}

/** Whether a legacy server took a call as the task that it was to be: it nests it in its result. */
function isCreated(result: Payload, { mayBeTask, params }: Call): boolean {
  if (mayBeTask !== true || !isObject(params?.task) || result.era === 'modern') return false
  const value = result.value()
  return isObject(value.task) && readTask(value) !== undefined
}

/** What a request answers that its client has cancelled. */
export function cancelledAnswer(): { error: RpcError } {
  return { error: rpcError(RPC.internal, gatewayError('GW_CANCELLED').message, { code: 'GW_CANCELLED' }) }
}

/** The same, in the form of a server's response. */
export function cancelled(id: RpcId): RpcResponse {
  return { kind: 'response', id, result: undefined, resultType: undefined, ...cancelledAnswer() }
}
