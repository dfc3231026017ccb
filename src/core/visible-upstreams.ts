import { entryOf } from '../api/catalog-entry.ts'
import type { Session } from '../api/index.ts'
import { KINDS } from '../protocol/methods.ts'
import { within } from '../util/within.ts'
import type { Graph, UpstreamNode } from './types.ts'

/** Who looks, and through which profile. */
type Viewer = Pick<Session, 'principal' | 'profile'>

/** How long a greeting waits for lists that say what its client may see. */
const WAIT_MS = 2000

/** The upstreams of which a client may know: all where no rules hide any, else those of which it sees something. */
export async function visibleUpstreams(graph: Graph, session: Session): Promise<UpstreamNode[]> {
  const nodes = [...graph.upstreams.values()]
  const doubtful = nodes.filter(node => !isKnownTo(session, node, graph))
  const lists = doubtful.flatMap(({ upstream }) =>
    KINDS.map(kind => graph.catalog.part(upstream.name, kind, session)),
  )
  // One whose lists do not come in time is not spoken of.
  if (lists.length > 0) await within(graph.clock, WAIT_MS, Promise.allSettled(lists))
  const seen = new Set(doubtful.filter(node => isListed(session, node, graph)))
  return nodes.filter(node => !doubtful.includes(node) || seen.has(node))
}

/** Whether rules let somebody know of an upstream, as far as that can be said at once. */
export function isKnownTo(viewer: Viewer, node: UpstreamNode, graph: Graph): boolean {
  if (graph.hooks.runner('catalog') === undefined) return true
  // Rules about all of an upstream pass what has no name, or do not.
  const any = entryOf('tools', node.upstream.name, '', node.prefix, { name: '' })
  return graph.catalog.permits(any, viewer) !== undefined || isListed(viewer, node, graph)
}

function isListed(viewer: Viewer, { upstream }: UpstreamNode, graph: Graph): boolean {
  return KINDS.some(kind => graph.catalog.shows(kind, viewer, upstream.name))
}
