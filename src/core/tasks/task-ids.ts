import type { Call, ClientDescription, Session } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import {
  declaresTasks,
  supportsTasks,
  servesTasks,
  TASKS_REQUIRED,
  addTaskCapability,
} from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Era } from '../../protocol/methods.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'
import type { Graph, TaskLocation } from '../graph-types.ts'
import type { ToolLocation } from './hosted-task.ts'

/** Longest id of a server, and name of a tool, that is passed on: it comes back in a header. */
const MAX_ORIGINAL_LENGTH = 1024

const DAY_MS = 86_400_000

/** Longest time that a task id can be used, whatever its server says. */
const MAX_LIFETIME_MS = 30 * DAY_MS

/** A task that its server keeps. */
export type ServerTaskLocation = Extract<TaskLocation, { at: 'server' }>

/** The tool that a call is to. */
export function getToolLocation({ upstream, params }: Call): ToolLocation {
  return { upstream, toolThere: String(params?.name) }
}

/** An id for this caller alone: it can be neither guessed nor used by another. Undefined for what is too long. */
export function sealTaskId(
  graph: Graph,
  session: Session,
  place: TaskLocation,
  ttlMs: number | null,
): string | undefined {
  if (
    place.original.length > MAX_ORIGINAL_LENGTH ||
    (place.at === 'server' && Math.max(place.tool.length, place.toolThere.length) > MAX_ORIGINAL_LENGTH)
  )
    return undefined
  // A server may prolong a task, so the id outlives what it said first.
  const life = ttlMs === null ? MAX_LIFETIME_MS : Math.min(Math.max(2 * ttlMs, DAY_MS), MAX_LIFETIME_MS)
  return graph.seal.sealWithExpiry(life, place, getCallerBinding(session))
}

/** Opens a task id to the place of its task; undefined for what is not ours, somebody else's, or too old. */
export function openTaskId(graph: Graph, session: Session, taskId: unknown): TaskLocation | undefined {
  if (typeof taskId !== 'string') return undefined
  return graph.seal.openWithExpiry(taskId, getCallerBinding(session)) as TaskLocation | undefined
}

function getCallerBinding({ principal }: Session): string {
  return JSON.stringify(['task', actorKey(principal)])
}

/**
 * Says why a caller may not use a task of its own; undefined where it may. A task is used as its tool is: whom the rules that are in
 * force keep from that, be it after a reload or with another credential of the same caller, learns nothing from the task and tells it nothing.
 */
export async function getTaskRefusal(
  { upstream, toolThere }: ToolLocation,
  session: Session,
  graph: Graph,
): Promise<RpcError | undefined> {
  // The list says which names a configuration gives to tools.
  if (graph.catalog.getCachedView('tools', session) === undefined) await graph.catalog.load('tools', session)
  const call = createDetachedExchange(graph, session, 'tools/call')
  const found = graph.router.checkRoute(call, { to: 'one', upstream, params: { name: toolThere } })
  if (!('error' in found)) return undefined
  // The catalog's error says which scope would open the tool; the task of a tool that is hidden is unknown.
  return found.error.data === undefined ? createUnknownTaskError() : found.error
}

/** True for a caller that may use a task of its own; false also where that is not known, as a list fails. */
export async function mayUseTask(tool: ToolLocation, session: Session, graph: Graph): Promise<boolean> {
  return (await getTaskRefusal(tool, session, graph).catch(() => true)) === undefined
}

/** Form in which a client wants its call: as a task in the way of its era, or as an answer and nothing else. */
type TaskForm = 'modern' | 'legacy' | 'none'

export function getTaskForm({ params, exchange }: Call): TaskForm {
  const { client } = exchange.session
  if (client.era === 'modern') return declaresTasks(client.capabilities) ? 'modern' : 'none'
  return supportsTasks(client) && isObject(params?.task) ? 'legacy' : 'none'
}

/** Tells whether any upstream runs calls as tasks, or a modern client may get one of a slow call: only then are clients told of them. */
export function offersTasks(graph: Graph, era: Era): boolean {
  if (era === 'modern' && graph.hooks.getRunner('patience', 'tools/call') !== undefined) return true
  for (const { upstream } of graph.upstreams.values())
    if (upstream.server !== undefined && servesTasks(upstream.server)) return true
  return false
}

/** Capabilities as this client may hear of them. */
export function addTaskCapabilities(
  capabilities: JsonObject,
  client: ClientDescription,
  graph: Graph,
): JsonObject {
  return supportsTasks(client) && offersTasks(graph, client.era)
    ? addTaskCapability(capabilities, client.era)
    : capabilities
}

/** Reads a tool's own `execution.getTaskSupport` (2025-11-25), whatever the client can do; `forbidden` if it has none. */
export async function getTaskSupport(
  graph: Graph,
  { upstream, params, exchange }: Call,
): Promise<'required' | 'optional' | 'forbidden'> {
  const name = params?.name
  if (typeof name !== 'string') return 'forbidden'
  const entry =
    graph.catalog.getCachedView('tools', exchange.session)?.findByOriginal(upstream, name) ??
    (await graph.catalog.getList(upstream, 'tools', exchange.session))?.entries.find(
      ({ original }) => original === name,
    )
  const execution = entry?.value.execution
  const support = isObject(execution) ? execution.taskSupport : undefined
  return support === 'required' || support === 'optional' ? support : 'forbidden'
}

/** The refusal of a client that did not declare the extension on this request. */
export function createTasksNotDeclaredError(): RpcError {
  return rpcError(RPC.missingCapability, 'Missing required client capability', {
    requiredCapabilities: TASKS_REQUIRED,
  })
}

/** Tells whether an error is the refusal of a server that serves only clients that can take a task. */
export function requiresTasks({ code, data }: RpcError): boolean {
  const required = isObject(data) ? data.requiredCapabilities : undefined
  return code === RPC.missingCapability && isObject(required) && declaresTasks(required)
}

export function createUnknownTaskError(): RpcError {
  return rpcError(RPC.invalidParams, 'Unknown task: it has expired, or never was')
}
