import type { Session } from '../../api/index.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { detached } from '../catalog/fetch-lists.ts'
import type { Graph } from '../graph-types.ts'
import type { ToolPlace } from './hosted-task.ts'
import { unknownTask } from './task-support.ts'

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
