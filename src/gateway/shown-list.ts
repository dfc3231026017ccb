import { onlooker } from '../core/session.ts'
import type { Graph } from '../core/graph-types.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { tokensIn } from '../util/units.ts'

/** One tool as a client is shown it. */
interface ShownRow {
  /** Real name. */
  readonly name: string
  readonly upstream: string
  /** Name that is shown, where it is another one. */
  readonly shown?: string
}

/** Lists the tools that a client of this name is shown, as nobody in particular, and those that it could call and is not shown. */
export async function shownList(graph: Graph, params: JsonObject): Promise<object> {
  const { client, profile } = params
  const info = { name: typeof client === 'string' ? client : 'unknown', version: '' }
  const viewer = typeof profile === 'string' ? { profile } : {}
  const session = onlooker(info, viewer)
  const view = await graph.catalog.load('tools', session)
  const { view: shown } = graph.catalog.listings.shown(view, session)
  const tools: ShownRow[] = shown.entries.map(entry => {
    const name = view.entryOf(entry)?.exposed ?? entry.exposed
    return { name, upstream: entry.upstream, ...(name === entry.exposed ? {} : { shown: entry.exposed }) }
  })
  const there = new Set(tools.map(({ name }) => name))
  const hidden = view.entries.filter(({ exposed }) => !there.has(exposed))
  const tokens = shown.entries.reduce(
    (sum, { exposed, value }) => sum + tokensIn(JSON.stringify({ ...value, name: exposed })),
    0,
  )
  return {
    tools,
    count: tools.length,
    tokens,
    hidden: hidden.map(({ exposed, upstream }) => ({ name: exposed, upstream })),
  }
}
