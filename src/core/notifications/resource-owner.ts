import { Payload } from '../../protocol/payload.ts'
import { RoadCall } from '../exchange.ts'
import { detached } from '../catalog/fetch-lists.ts'
import type { Graph } from '../graph.ts'
import type { Answer, Session } from '../../api/index.ts'

/** Whose a resource is, and what its owner calls it. */
export interface ResourceOwner {
  readonly upstream: string
  readonly original: string
  /** What clients call it. */
  readonly exposed: string
}

/** Subscribes or unsubscribes at the owner, in nobody's exchange. */
export async function askOwner(
  method: 'resources/subscribe' | 'resources/unsubscribe',
  { upstream, original }: ResourceOwner,
  graph: Graph,
  session: Session,
): Promise<Answer> {
  const node = graph.upstreams.get(upstream)
  if (node === undefined) return { result: Payload.of({}) }
  return node.dispatch(new RoadCall(upstream, method, { uri: original }, detached(graph, session, method)))
}
