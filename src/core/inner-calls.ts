import type { Answer, CarriedCall, ClientSide, Inbound, Notification, Session } from '../api/index.ts'
import { isObject, type JsonObject } from '../protocol/json/json.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { PipelineExchange } from './exchange.ts'
import type { Graph } from './graph-types.ts'
import { travel } from './pipeline.ts'
import { seenBy } from './session.ts'

interface Maker extends Graph {
  exchange(session: Session, inbound: Inbound): PipelineExchange
}

/** Calls that were made for another one: they make none. */
const INNER = new WeakSet<PipelineExchange>()
const SILENT = (_: Notification): void => undefined

/** Makes a call of a tool for an exchange: one of its caller, on the whole way. It is cancelled with the exchange. */
export async function callWithin(
  outer: PipelineExchange,
  params: CarriedCall,
  graph: Maker,
): Promise<Answer> {
  if (INNER.has(outer)) return { error: rpcError(RPC.invalidParams, 'a call within a call makes no others') }
  if (outer.cancelled) return { error: rpcError(RPC.internal, 'the request was cancelled') }
  const { session, principal, credentials, headers, remoteAddress, via } = outer
  const trace = traceOf(outer.params)
  const inbound: Inbound = {
    method: 'tools/call',
    params: { ...params, ...(trace === undefined ? {} : { _meta: trace }) },
    via,
    // Headers of MCP are about the outer call.
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('mcp-'))),
    remoteAddress,
    principal,
    credentials,
    client: unaskable(session.client),
    emit: SILENT,
  }
  const inner = graph.exchange(seenBy(session, inbound), inbound)
  INNER.add(inner)
  inner.unwrap(params)
  const forget = outer.onCancel(reason => inner.cancel(reason))
  try {
    return await travel(inner, graph)
  } finally {
    forget()
  }
}

const TRACE = ['traceparent', 'tracestate', 'baggage']

/** The trace that a request belongs to, which its calls belong to as well. */
function traceOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?._meta
  const own = isObject(meta) ? Object.entries(meta).filter(([name]) => TRACE.includes(name)) : []
  return own.length === 0 ? undefined : Object.fromEntries(own)
}

const UNASKABLE = new WeakMap<ClientSide, ClientSide>()

/** The client as one that nobody can ask: whoever would hears that. */
function unaskable(client: ClientSide): ClientSide {
  let known = UNASKABLE.get(client)
  if (known === undefined) UNASKABLE.set(client, (known = { ...client, capabilities: {} }))
  return known
}
