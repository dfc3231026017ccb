import { lacking, neutralCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { RPC, rpcError, type RpcError } from '../protocol/rpc-error.ts'
import type { Graph } from './graph.ts'
import type { Ask, AskReply, Exchange } from './ports.ts'

/** What a hook replies in the client's place; undefined when none does. */
export async function hookReply(graph: Graph, exchange: Exchange, ask: Ask): Promise<AskReply | undefined> {
  const answer = await graph.hooks.runner('clientRequest', ask.method)?.(ask, exchange)
  if (answer === undefined || answer === null) return undefined
  if ('error' in answer) return { error: answer.error }
  return 'result' in answer ? { result: answer.result.value() } : undefined
}

/** The capability that this exchange's client lacks for an ask; undefined when it may be asked. */
export function lackingFor(exchange: Exchange, { method, params }: Ask): JsonObject | undefined {
  return lacking(neutralCapabilities(exchange.session.client), method, params)
}

export function missingCapability(ask: Ask, requiredCapabilities: JsonObject): RpcError {
  return rpcError(RPC.missingCapability, `The client does not support ${ask.method}`, {
    requiredCapabilities,
  })
}

/** What no hook answers and no client can be asked for. */
export function cannotAsk({ method }: Ask): AskReply {
  return { error: rpcError(RPC.methodNotFound, `the client cannot be asked for ${method}`) }
}
