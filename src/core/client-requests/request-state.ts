import type { Call } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { RPC, type RpcError, rpcError } from '../../protocol/rpc-error.ts'
import type { Graph } from '../types.ts'
import { createHash } from 'node:crypto'

/** How long a client may think before it retries. */
export const STATE_TTL_MS = 600_000

/** What we know of a call that waits for its client to retry. Only we can read it. */
export interface RequestState {
  /** The upstream's own state, to be given back to it untouched. */
  readonly inner?: string
  /** Answers that hooks gave in the client's place. */
  readonly given?: JsonObject
  /** The retry is the original request again: its answers are for somebody else. */
  readonly again?: boolean
  /** The parked call that the retry resumes, and which of its questions it answers. */
  readonly parked?: { readonly id: string; readonly round: number }
}

/** A `requestState` for this caller, upstream and request alone, and for ten minutes. */
export function sealState(graph: Graph, call: Call, state: RequestState): string {
  return graph.seal.closeFor(STATE_TTL_MS, state, bindingOf(call))
}

/** The state, or the error for one that is not ours, not for this request, or too old. */
export function openState(graph: Graph, call: Call, sealed: unknown): RequestState | { error: RpcError } {
  const state =
    typeof sealed === 'string'
      ? (graph.seal.openInTime(sealed, bindingOf(call)) as RequestState | undefined)
      : undefined
  return state ?? { error: invalidState() }
}

export function invalidState(): RpcError {
  return rpcError(RPC.invalidParams, 'Invalid params: requestState is invalid or expired', {
    reason: 'invalid_request_state',
  })
}

function bindingOf({ upstream, method, params, exchange }: Call): string {
  const asked = JSON.stringify([params?.name, params?.uri, params?.arguments])
  const digest = createHash('sha256').update(asked).digest('base64')
  return JSON.stringify(['requestState', actorKey(exchange.session.principal), upstream, method, digest])
}
