import type { Exchange, Session } from '../../api/index.ts'
import type { GatewayError } from '../../errors/errors.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { EntryKind, Kind } from '../../protocol/methods.ts'
import { LISTS, SKILLS } from '../../protocol/methods.ts'
import type { Payload } from '../../protocol/payload.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { readMap } from '../../util/plain-data.ts'
import { createCannotAskReply } from '../client-request.ts'
import type { ExchangeDeps } from '../exchange.ts'
import { PipelineCall, PipelineExchange } from '../exchange.ts'
import type { Graph, UpstreamNode } from '../graph-types.ts'

/** Maximum pages of one list. */
export const MAX_PAGES = 64
/** Maximum bytes of one list, all pages together. */
const MAX_BYTES = 16 * 1024 * 1024

/** True if an upstream is known to lack this kind. */
export function lacksKind(node: UpstreamNode, kind: Kind): boolean {
  return node.upstream.server !== undefined && !offersKind(node, kind)
}

/** Creates the call for one page. */
export function createListCall(
  graph: Graph,
  node: UpstreamNode,
  kind: EntryKind,
  session: Session,
  cursor?: string,
): PipelineCall {
  const { method } = LISTS[kind]
  const params = cursor === undefined ? undefined : { cursor }
  const call = new PipelineCall(node.upstream.name, method, params, createDetachedExchange(graph, session, method))
  graph.hooks.getRunner('call', method)?.(call)
  return call
}

/**
 * Fetches all pages of one list, beginning with this call; undefined if the upstream lacks the list. Waits up to
 * `lists.grace` for a starting upstream.
 * @throws GatewayError if the upstream is unavailable or fails.
 */
export async function fetchList(
  graph: Graph,
  node: UpstreamNode,
  kind: EntryKind,
  session: Session,
  first: PipelineCall,
): Promise<Payload[] | undefined> {
  const hasWaited = await waitUntilReady(graph, node)
  if (!offersKind(node, kind) || graph.unlisted.isKnownToLack(node.upstream, LISTS[kind].method)) return undefined
  // Create the call after the wait, as its timeout starts with its creation.
  const call = hasWaited ? createListCall(graph, node, kind, session) : first
  return fetchPages(graph, node, kind, session, call)
}

/**
 * Waits for first contact with an upstream; true if it was not ready yet. Throws if a longer wait would delay other
 * upstreams' lists.
 */
async function waitUntilReady({ grace }: Graph, { upstream }: UpstreamNode): Promise<boolean> {
  if (upstream.server !== undefined || upstream.state === 'stopped') return false
  await grace.waitForStart(upstream)
  if (upstream.server !== undefined) return true
  const why = upstream.problem ?? 'still starting'
  throw gatewayError('GW_UPSTREAM_DOWN', { upstream: upstream.name, why, detail: upstream.problemDetail })
}

function offersKind({ upstream: { server } }: UpstreamNode, kind: EntryKind): boolean {
  if (kind === 'skills') return readMap(server, 'capabilities', 'extensions')[SKILLS] !== undefined
  return server?.capabilities[LISTS[kind].capability] !== undefined
}

async function fetchPages(
  graph: Graph,
  node: UpstreamNode,
  kind: EntryKind,
  session: Session,
  first: PipelineCall,
): Promise<Payload[]> {
  const payloads: Payload[] = []
  let bytes = 0
  let call = first
  for (let page = 0; page < MAX_PAGES; page++) {
    const payload = await fetchPage(graph, node, call)
    if (payload === undefined) break
    payloads.push(payload)
    bytes += payload.bytes().length
    if (bytes > MAX_BYTES) throw createTooLongError(node, call.method)
    const cursor = payload.value().nextCursor
    if (typeof cursor !== 'string') break
    call = createListCall(graph, node, kind, session, cursor)
  }
  return payloads
}

function createTooLongError({ upstream }: UpstreamNode, method: string): GatewayError {
  const why = `${method} exceeds ${MAX_BYTES} bytes in total`
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream: upstream.name, why })
}

async function fetchPage(graph: Graph, node: UpstreamNode, call: PipelineCall): Promise<Payload | undefined> {
  const answer = await node.dispatch(call)
  if ('result' in answer) {
    graph.unlisted.note(node.upstream, call.method, true)
    return answer.result
  }
  const error = 'error' in answer ? answer.error : undefined
  if (error?.code !== RPC.methodNotFound) throw createListFailure(node, call.method, error)
  // Servers may advertise resources without templates: treat an unknown list method as an empty list.
  graph.unlisted.note(node.upstream, call.method, false)
  return undefined
}

function createListFailure({ upstream }: UpstreamNode, method: string, error: RpcError | undefined): GatewayError {
  if (error === undefined)
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream: upstream.name,
      why: `${method} failed: the server requested input`,
    })
  return gatewayError('GW_UPSTREAM_ERROR', { upstream: upstream.name, method, why: error.message })
}

/** Creates an exchange that no caller can cancel, as several may wait for its answer. */
export function createDetachedExchange(
  graph: Graph,
  session: Session,
  method: string,
  of?: Pick<Exchange, 'headers' | 'via' | 'remoteAddress'>,
): PipelineExchange {
  const { headers, via, remoteAddress } = of ?? {}
  return new PipelineExchange(
    graph.nextId(),
    session,
    { method, params: undefined, emit: () => undefined, headers, via, remoteAddress },
    { ...SILENT, recorder: graph.recorder },
    graph.clock.now(),
  )
}

/** Carrier for list requests: drops notifications and refuses client requests. */
const SILENT: Pick<ExchangeDeps, 'emit' | 'ask'> = {
  emit: () => undefined,
  ask: (_exchange, ask) => Promise.resolve(createCannotAskReply(ask)),
}
