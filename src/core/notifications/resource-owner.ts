import type { Answer, Session } from '../../api/index.ts'
import { Payload } from '../../protocol/payload.ts'
import { detached } from '../catalog/fetch-lists.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph, ResourceOwner } from '../graph-types.ts'

/** Subscribes or unsubscribes at the owner, in nobody's exchange. */
export async function askOwner(
  method: 'resources/subscribe' | 'resources/unsubscribe',
  { upstream, original }: ResourceOwner,
  graph: Graph,
  session: Session,
): Promise<Answer> {
  const node = graph.upstreams.get(upstream)
  if (node === undefined) return { result: Payload.of({}) }
  return node.dispatch(
    new PipelineCall(upstream, method, { uri: original }, detached(graph, session, method)),
  )
}
