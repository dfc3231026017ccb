import type { Call, Session } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import type { Graph, TaskPlace } from '../graph-types.ts'
import type { ToolPlace } from './hosted-task.ts'

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
