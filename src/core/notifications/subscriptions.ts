import { LISTEN_FLAGS } from '../../protocol/methods.ts'
import type { Answer, Exchange, Session } from '../../api/index.ts'
import { declaresTasks } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { canonicalizeUri } from '../../protocol/uri.ts'
import { settlesWithin } from '../../util/clock.ts'
import { waitForFirstContact, mergeCapabilities } from '../capabilities.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import { selectOwnTasks, watchTasks } from '../tasks/task-methods.ts'
import { createTasksNotDeclaredError } from '../tasks/task-ids.ts'
import type { Graph, ListenFilter, ResourceOwner } from '../graph-types.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'

/** Maximum URIs in one `subscriptions/listen`. */
const MAX_URIS = 1024
/** Milliseconds that an acknowledgement waits for servers to subscribe; slower ones complete later. */
const HOLD_MS = 1000

/**
 * `subscriptions/listen` (2026-07-28): acknowledges the available notifications, then stays open until the client
 * ends it.
 */
export async function listen(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const requested = exchange.params?.notifications
  if (!isObject(requested))
    return { error: rpcError(RPC.invalidParams, 'Invalid params: "notifications" must be an object') }
  if (isRequested(requested.taskIds) && !declaresTasks(exchange.session.client.capabilities))
    return { error: createTasksNotDeclaredError() }
  // A client's first request may be a listen, while upstreams still start.
  await waitForFirstContact(graph)
  const filter = { ...selectSupported(requested, graph), taskIds: selectOwnTasks(exchange, graph, requested.taskIds) }
  // Subscribe before the acknowledgement; a failed resource must not cancel the others.
  const subscribing = Promise.allSettled([...filter.uris].map(uri => subscribeResource(uri, exchange, graph, exchange)))
  if (filter.uris.size > 0) await settlesWithin(graph.clock, HOLD_MS, subscribing)
  const listening = graph.notifier.listen(exchange, filter)
  if (listening === undefined) {
    releaseAll(filter.uris, exchange, graph)
    return { error: rpcError(RPC.internal, 'Subscription limit reached') }
  }
  exchange.emit({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: createAcknowledgement(filter) },
  })
  watchTasks(filter.taskIds, exchange, graph)
  await subscribing
  await listening
  releaseAll(filter.uris, exchange, graph)
  return { result: Payload.of({ resultType: 'complete' }) }
}

function releaseAll(uris: ReadonlySet<string>, exchange: Exchange, graph: Graph): void {
  for (const uri of uris) unsubscribeResource(uri, exchange, graph, exchange)
}

function isRequested(taskIds: unknown): boolean {
  return Array.isArray(taskIds) && taskIds.length > 0
}

function selectSupported(requested: JsonObject, graph: Graph): Omit<ListenFilter, 'taskIds'> {
  const capabilities = mergeCapabilities(graph)
  const methods = new Set<string>()
  for (const [kind, flag] of Object.entries(LISTEN_FLAGS)) {
    if (requested[flag] === true && capabilities[kind] !== undefined) methods.add(`notifications/${kind}/list_changed`)
  }
  const canSubscribe = isObject(capabilities.resources) && capabilities.resources.subscribe === true
  const uris = Array.isArray(requested.resourceSubscriptions) && canSubscribe ? requested.resourceSubscriptions : []
  return { methods, uris: new Set(uris.filter(uri => typeof uri === 'string').slice(0, MAX_URIS)) }
}

function createAcknowledgement(filter: ListenFilter): JsonObject {
  const notifications: JsonObject = {}
  for (const [kind, flag] of Object.entries(LISTEN_FLAGS))
    if (filter.methods.has(`notifications/${kind}/list_changed`)) notifications[flag] = true
  if (filter.uris.size > 0) notifications.resourceSubscriptions = [...filter.uris]
  if (filter.taskIds.length > 0) notifications.taskIds = [...filter.taskIds]
  return notifications
}

/**
 * `resources/subscribe` (legacy): each connection to the upstream is subscribed once, however many sessions want the
 * URI.
 */
export async function subscribe(exchange: Exchange, graph: Graph): Promise<Answer> {
  const uri = exchange.params?.uri
  if (typeof uri !== 'string') return { error: rpcError(RPC.invalidParams, 'Invalid params: "uri" must be a string') }
  await waitForFirstContact(graph)
  const capabilities = mergeCapabilities(graph)
  if (!isObject(capabilities.resources) || capabilities.resources.subscribe !== true) {
    return {
      error: rpcError(RPC.methodNotFound, 'Method not found: no upstream offers resource subscriptions'),
    }
  }
  return subscribeResource(uri, exchange.session, graph, exchange)
}

export function unsubscribe(exchange: Exchange, graph: Graph): Answer {
  const uri = exchange.params?.uri
  if (typeof uri !== 'string') return { error: rpcError(RPC.invalidParams, 'Invalid params: "uri" must be a string') }
  unsubscribeResource(uri, exchange.session, graph, exchange)
  return { result: Payload.of({}) }
}

async function subscribeResource(uri: string, holder: object, graph: Graph, exchange: Exchange): Promise<Answer> {
  const done: Answer = { result: Payload.of({}) }
  const name = canonicalizeUri(uri)
  const owner = await graph.router.findOwner(name, exchange)
  if (owner === undefined) return { error: rpcError(RPC.invalidParams, `Resource not found: ${uri}`, { uri }) }
  const outcome = graph.notifier.addHolder(name, owner, holder)
  if (outcome === 'full') return { error: rpcError(RPC.internal, 'Subscription limit reached') }
  if (outcome === 'known') return done
  try {
    const answer = await callOwner('resources/subscribe', owner, graph, exchange.session, exchange)
    if ('error' in answer) graph.notifier.removeHolder(name, holder)
    return answer
  } catch (error) {
    // The next subscriber must reach the server again.
    graph.notifier.removeHolder(name, holder)
    throw error
  }
}

function unsubscribeResource(uri: string, holder: object, graph: Graph, exchange: Exchange): void {
  const owner = graph.notifier.removeHolder(canonicalizeUri(uri), holder)
  if (owner === undefined) return
  void callOwner('resources/unsubscribe', owner, graph, exchange.session).catch(() => undefined)
}

/**
 * Subscribes or unsubscribes at the owner, in a detached exchange; rules see the original request, if there is one.
 */
export async function callOwner(
  method: 'resources/subscribe' | 'resources/unsubscribe',
  { upstream, original, exposed }: ResourceOwner,
  graph: Graph,
  session: Session,
  origin?: Exchange,
): Promise<Answer> {
  const node = graph.upstreams.get(upstream)
  if (node === undefined) return { result: Payload.of({}) }
  const own = createDetachedExchange(graph, session, method, origin)
  own.params = { uri: exposed }
  return node.dispatch(new PipelineCall(upstream, method, { uri: original }, own))
}
