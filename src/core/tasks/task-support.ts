import type { Call, ClientSide } from '../../api/index.ts'
import {
  TASKS_REQUIRED,
  declaresTasks,
  knowsTasks,
  servesTasks,
  withTasks,
} from '../../protocol/era/tasks.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import { RPC, type RpcError, rpcError } from '../../protocol/rpc-error.ts'
import type { Graph } from '../types.ts'

/** How a client wants its call: as a task in the way of its era, or answered and nothing else. */
export type TaskForm = 'modern' | 'legacy' | 'none'

export function taskFormOf({ params, exchange }: Call): TaskForm {
  const { client } = exchange.session
  if (client.era === 'modern') return declaresTasks(client.capabilities) ? 'modern' : 'none'
  return knowsTasks(client) && isObject(params?.task) ? 'legacy' : 'none'
}

/** Whether any upstream runs calls as tasks: only then are clients told of them. */
export function offersTasks(graph: Graph): boolean {
  for (const { upstream } of graph.upstreams.values())
    if (upstream.server !== undefined && servesTasks(upstream.server)) return true
  return false
}

/** Capabilities as this client may hear of them. */
export function announceTasks(capabilities: JsonObject, client: ClientSide, graph: Graph): JsonObject {
  return knowsTasks(client) && offersTasks(graph) ? withTasks(capabilities, client.era) : capabilities
}

/** What a tool says of itself, whoever asks: `execution.taskSupport` of 2025-11-25. */
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

/** Whether a server refuses to serve anybody who cannot take a task. */
export function requiresTasks({ code, data }: RpcError): boolean {
  const required = isObject(data) ? data.requiredCapabilities : undefined
  return code === RPC.missingCapability && isObject(required) && declaresTasks(required)
}
