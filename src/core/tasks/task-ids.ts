import type { Call, Session } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { detached } from '../catalog/fetch-lists.ts'
import type { Graph, TaskPlace } from '../graph-types.ts'
import type { ToolPlace } from './hosted-task.ts'
import { unknownTask } from './task-calls.ts'

/** Longest id of a server, and name of a tool, that is passed on: it comes back in a header. */
const MAX_ORIGINAL = 1024

const DAY_MS = 86_400_000

/** Longest time that a task id can be used, whatever its server says. */
const MAX_LIFE_MS = 30 * DAY_MS

/** A task that its server keeps. */
export type ServerPlace = Extract<TaskPlace, { at: 'server' }>

/** The tool that a call is to. */
export function toolOf({ upstream, params }: Call): ToolPlace {
  return { upstream, toolThere: String(params?.name) }
}

/** An id for this caller alone: it can be neither guessed nor used by another. Undefined for what is too long. */
export function sealTaskId(
  graph: Graph,
  session: Session,
  place: TaskPlace,
  ttlMs: number | null,
): string | undefined {
  if (
    place.original.length > MAX_ORIGINAL ||
    (place.at === 'server' && Math.max(place.tool.length, place.toolThere.length) > MAX_ORIGINAL)
  )
    return undefined
  // A server may prolong a task, so the id outlives what it said first.
  const life = ttlMs === null ? MAX_LIFE_MS : Math.min(Math.max(2 * ttlMs, DAY_MS), MAX_LIFE_MS)
  return graph.seal.closeFor(life, place, bindingOf(session))
}

/** Opens a task id to the place of its task; undefined for what is not ours, somebody else's, or too old. */
export function openTaskId(graph: Graph, session: Session, taskId: unknown): TaskPlace | undefined {
  if (typeof taskId !== 'string') return undefined
  return graph.seal.openInTime(taskId, bindingOf(session)) as TaskPlace | undefined
}

function bindingOf({ principal }: Session): string {
  return JSON.stringify(['task', actorKey(principal)])
}

/**
 * Says why a caller may not use a task of its own; undefined where it may. A task is used as its tool is: whom the rules that are in
 * force keep from that, be it after a reload or with another credential of the same caller, learns nothing from the task and tells it nothing.
 */
export async function whyNotUsed(
  { upstream, toolThere }: ToolPlace,
  session: Session,
  graph: Graph,
): Promise<RpcError | undefined> {
  // The list says which names a configuration gives to tools.
  if (graph.catalog.current('tools', session) === undefined) await graph.catalog.load('tools', session)
  const call = detached(graph, session, 'tools/call')
  const found = graph.router.permit(call, { to: 'one', upstream, params: { name: toolThere } })
  if (!('error' in found)) return undefined
  // The catalog's error says which scope would open the tool; the task of a tool that is hidden is unknown.
  return found.error.data === undefined ? unknownTask() : found.error
}

/** True for a caller that may use a task of its own; false also where that is not known, as a list fails. */
export async function mayUse(tool: ToolPlace, session: Session, graph: Graph): Promise<boolean> {
  return (await whyNotUsed(tool, session, graph).catch(() => true)) === undefined
}
