import type { Call, ClientDescription, Session } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import {
  declaresTasks,
  versionHasTasks,
  servesTasks,
  TASKS_REQUIRED,
  addTaskCapability,
} from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Era } from '../../protocol/methods.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'
import type { Graph, TaskLocation } from '../graph-types.ts'
import type { ToolLocation } from './hosted-task.ts'

/** Maximum length of a server's task id or a tool name, as it returns in a header. */
const MAX_ORIGINAL_LENGTH = 1024

const DAY_MS = 86_400_000

/** Maximum lifetime of a task id, whatever its server suggests. */
const MAX_LIFETIME_MS = 30 * DAY_MS

export function getToolLocation({ upstream, params }: Call): ToolLocation {
  return { upstream, toolThere: String(params?.name) }
}

/** Seals a task id for this caller alone; undefined if it is too long. */
export function sealTaskId(
  graph: Graph,
  session: Session,
  location: TaskLocation,
  ttlMs: number | null,
): string | undefined {
  if (
    location.original.length > MAX_ORIGINAL_LENGTH ||
    (location.at === 'server' && Math.max(location.tool.length, location.toolThere.length) > MAX_ORIGINAL_LENGTH)
  )
    return undefined
  // A server may extend a task, so the id outlives the initial lifetime.
  const life = ttlMs === null ? MAX_LIFETIME_MS : Math.min(Math.max(2 * ttlMs, DAY_MS), MAX_LIFETIME_MS)
  return graph.seal.sealWithExpiry(life, location, getCallerBinding(session))
}

/** Opens a task id; undefined if it is invalid, foreign or expired. */
export function openTaskId(graph: Graph, session: Session, taskId: unknown): TaskLocation | undefined {
  if (typeof taskId !== 'string') return undefined
  return graph.seal.openWithExpiry(taskId, getCallerBinding(session)) as TaskLocation | undefined
}

function getCallerBinding({ principal }: Session): string {
  return JSON.stringify(['task', actorKey(principal)])
}

/**
 * Returns why a caller may not use its own task; undefined if it may. A task has the permissions of its tool under
 * the current rules, so a reload or another credential of the same caller can close it.
 */
export async function getTaskRefusal(
  { upstream, toolThere }: ToolLocation,
  session: Session,
  graph: Graph,
): Promise<RpcError | undefined> {
  // The list maps the configured tool names.
  if (graph.catalog.getCachedView('tools', session) === undefined) await graph.catalog.load('tools', session)
  const call = createDetachedExchange(graph, session, 'tools/call')
  const result = graph.router.checkRoute(call, { to: 'one', upstream, params: { name: toolThere } })
  if (!('error' in result)) return undefined
  // The catalog's error may name the required scope; the task of a hidden tool is unknown.
  return result.error.data === undefined ? createUnknownTaskError() : result.error
}

/** True if a caller may use its own task; false also if a list fails and the permission is unknown. */
export async function mayUseTask(tool: ToolLocation, session: Session, graph: Graph): Promise<boolean> {
  return (await getTaskRefusal(tool, session, graph).catch(() => true)) === undefined
}

/** How a client receives a task: in the form of its era, or not at all. */
type TaskForm = 'modern' | 'legacy' | 'none'

export function getTaskForm({ params, exchange }: Call): TaskForm {
  const { client } = exchange.session
  if (client.era === 'modern') return declaresTasks(client.capabilities) ? 'modern' : 'none'
  return versionHasTasks(client) && isObject(params?.task) ? 'legacy' : 'none'
}

/**
 * True if an upstream of this era runs calls as tasks, or a slow call may become one: only then do clients see the
 * capability.
 */
export function offersTasks(graph: Graph, era: Era): boolean {
  if (era === 'modern' && graph.hooks.taps('call').some(({ options }) => options.setsPatience === true)) return true
  for (const { upstream } of graph.upstreams.values())
    if (upstream.server?.era === era && servesTasks(upstream.server)) return true
  return false
}

/** Adds the task capabilities of this client's era. */
export function addTaskCapabilities(capabilities: JsonObject, client: ClientDescription, graph: Graph): JsonObject {
  return versionHasTasks(client) && offersTasks(graph, client.era)
    ? addTaskCapability(capabilities, client.era)
    : capabilities
}

/** Error for a client that did not declare the extension on this request. */
export function createTasksNotDeclaredError(): RpcError {
  return rpcError(RPC.missingCapability, 'Missing required client capability', {
    requiredCapabilities: TASKS_REQUIRED,
  })
}

/** True for the error of a server that serves only clients with task support. */
export function isTasksRequiredError({ code, data }: RpcError): boolean {
  const required = isObject(data) ? data.requiredCapabilities : undefined
  return code === RPC.missingCapability && isObject(required) && declaresTasks(required)
}

export function createUnknownTaskError(): RpcError {
  return rpcError(RPC.invalidParams, 'Unknown task: not found or expired')
}
