import type { Call, ClientSide } from '../../api/index.ts'
import {
  declaresTasks,
  knowsTasks,
  servesTasks,
  TASKS_REQUIRED,
  withTasks,
} from '../../protocol/era/tasks.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { RPC, rpcError, type RpcError } from '../../protocol/rpc-error.ts'
import type { Era } from '../../protocol/versions.ts'
import type { Graph } from '../graph-types.ts'

/** Form in which a client wants its call: as a task in the way of its era, or as an answer and nothing else. */
type TaskForm = 'modern' | 'legacy' | 'none'

export function taskFormOf({ params, exchange }: Call): TaskForm {
  const { client } = exchange.session
  if (client.era === 'modern') return declaresTasks(client.capabilities) ? 'modern' : 'none'
  return knowsTasks(client) && isObject(params?.task) ? 'legacy' : 'none'
}

/** Tells whether any upstream runs calls as tasks, or a modern client may get one of a slow call: only then are clients told of them. */
export function offersTasks(graph: Graph, era: Era): boolean {
  if (era === 'modern' && graph.hooks.runner('patience', 'tools/call') !== undefined) return true
  for (const { upstream } of graph.upstreams.values())
    if (upstream.server !== undefined && servesTasks(upstream.server)) return true
  return false
}

/** Capabilities as this client may hear of them. */
export function announceTasks(capabilities: JsonObject, client: ClientSide, graph: Graph): JsonObject {
  return knowsTasks(client) && offersTasks(graph, client.era)
    ? withTasks(capabilities, client.era)
    : capabilities
}

/** Reads a tool's own `execution.taskSupport` (2025-11-25), whatever the client can do; `forbidden` if it has none. */
export async function taskSupport(
  graph: Graph,
  { upstream, params, exchange }: Call,
): Promise<'required' | 'optional' | 'forbidden'> {
  const name = params?.name
  if (typeof name !== 'string') return 'forbidden'
  const entry =
    graph.catalog.current('tools', exchange.session)?.findOriginal(upstream, name) ??
    (await graph.catalog.part(upstream, 'tools', exchange.session))?.entries.find(
      ({ original }) => original === name,
    )
  const execution = entry?.value.execution
  const support = isObject(execution) ? execution.taskSupport : undefined
  return support === 'required' || support === 'optional' ? support : 'forbidden'
}

/** The refusal of a client that did not declare the extension on this request. */
export function tasksNotDeclared(): RpcError {
  return rpcError(RPC.missingCapability, 'Missing required client capability', {
    requiredCapabilities: TASKS_REQUIRED,
  })
}

/** Tells whether an error is the refusal of a server that serves only clients that can take a task. */
export function requiresTasks({ code, data }: RpcError): boolean {
  const required = isObject(data) ? data.requiredCapabilities : undefined
  return code === RPC.missingCapability && isObject(required) && declaresTasks(required)
}

export function unknownTask(): RpcError {
  return rpcError(RPC.invalidParams, 'Unknown task: it has expired, or never was')
}
