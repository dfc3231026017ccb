import type { Exchange, Session } from '../../api/index.ts'
import type { Kind } from '../../protocol/methods.ts'
import { within } from '../../util/within.ts'
import type { Graph, UpstreamNode } from '../types.ts'
import type { LateList } from './part.ts'

/** What is looked for: a thing of one of these kinds. */
export interface Wanted {
  readonly kinds: readonly Kind[]
  readonly session: Session
  /** The request that looks for it; nobody waits for one that is cancelled. */
  readonly exchange: Exchange
}

/**
 * Looks for a thing, and looks again whenever a list arrives that is late for the first time, such as that of a server that
 * starts, until their grace is over. Where no list is late, that is one look.
 */
export async function findInTime<T>(
  graph: Graph,
  wanted: Wanted,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (;;) {
    const found = await look()
    const late = found === undefined && !wanted.exchange.cancelled ? lateLists(graph, wanted) : []
    if (late.length === 0) return found
    await nextOf(late, graph, wanted.exchange)
  }
}

/** Waits for the first of them to arrive, unless their time is over before or the request is cancelled. */
async function nextOf(late: readonly LateList[], { clock }: Graph, exchange: Exchange): Promise<void> {
  const leftMs = Math.max(...late.map(list => list.leftMs))
  let takeBack = (): void => undefined
  const cancelled = new Promise<void>(resolve => {
    takeBack = exchange.onCancel(() => resolve())
  })
  await within(clock, leftMs, Promise.race([cancelled, ...late.map(({ done }) => done)]))
  takeBack()
}

function lateLists(graph: Graph, { kinds, session }: Wanted): LateList[] {
  const nodes = [...graph.upstreams.values()]
  return kinds.flatMap(kind =>
    nodes
      .filter(node => mayOwn(graph, node, kind))
      .flatMap(node => graph.catalog.late(node, kind, session) ?? []),
  )
}

/** Without rules that change names, the prefix says whose a name is, and a call need not wait for a list. */
function mayOwn({ hooks }: Graph, { prefix }: UpstreamNode, kind: Kind): boolean {
  const isNamed = kind === 'tools' || kind === 'prompts'
  return !isNamed || prefix === '' || hooks.runner('catalog') !== undefined
}
