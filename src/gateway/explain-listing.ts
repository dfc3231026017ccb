import { type CatalogEntry, isCalled } from '../api/catalog-entry.ts'
import type { ExplainStep } from '../api/explain.ts'
import type { Session } from '../api/index.ts'
import type { RuntimeGraph } from '../core/graph.ts'

/** The tool as its caller sees it, and how that came about. */
interface Listing {
  readonly entry: CatalogEntry | undefined
  readonly steps: readonly ExplainStep[]
}

/** An entry on its way through the `catalog` taps. */
interface Passage {
  /** As the caller sees it; undefined where a tap hides it. */
  readonly seen: CatalogEntry | undefined
  /** True if the caller's name for it was one of its names on the way. */
  readonly isMeant: boolean
  readonly steps: readonly ExplainStep[]
}

/** Says of a tool whose it is, and which plugins hide, rename or describe it for this caller. */
export async function stepsOfListing(graph: RuntimeGraph, tool: string, session: Session): Promise<Listing> {
  const view = await graph.catalog.load('tools', session)
  const parts = await Promise.all(
    [...graph.upstreams.keys()].map(name => graph.catalog.part(name, 'tools', session)),
  )
  const passages = parts
    .flatMap(part => part?.entries ?? [])
    .map(entry => passageOf(entry, tool, session, graph))
    .filter(({ isMeant, seen }) => isMeant && (seen === undefined || isCalled(seen, tool)))
  const entry = view.find(tool)
  const owner = passages.find(({ seen }) => seen !== undefined && seen.upstream === entry?.upstream)
  if (owner === undefined) return { entry, steps: passages.flatMap(({ steps }) => steps) }
  const others = passages.filter(one => one !== owner && one.seen !== undefined)
  return { entry, steps: [...owner.steps, ...others.map(({ seen }) => withheld(seen, owner))] }
}

function withheld(seen: CatalogEntry | undefined, { seen: owner }: Passage): ExplainStep {
  const text = `"${String(seen?.upstream)}" offers one of that name too, and is declared after "${String(owner?.upstream)}"`
  return { by: 'core', at: 'listing', does: 'passes', text }
}

function passageOf(raw: CatalogEntry, tool: string, session: Session, { hooks }: RuntimeGraph): Passage {
  const view = { kind: raw.kind, principal: session.principal, profile: session.profile }
  const steps: ExplainStep[] = [listed(raw)]
  let entry = raw
  let isMeant = isCalled(raw, tool)
  for (const { plugin, run } of hooks.each('catalog')) {
    const decided = run([entry], view)
    const [next] = decided ?? [entry]
    if (next === undefined) return { seen: undefined, isMeant, steps: [...steps, hidden(plugin, entry)] }
    if (next !== entry) steps.push(...changed(plugin, entry, next))
    entry = next
    isMeant ||= isCalled(entry, tool)
  }
  return { seen: entry, isMeant, steps }
}

function listed({ upstream, original, exposed }: CatalogEntry): ExplainStep {
  const shown = original === exposed ? '' : `, shown as ${exposed}`
  const text = `"${upstream}" offers ${original}${shown}`
  return { by: 'core', at: 'listing', does: 'passes', text, facts: { upstream, original, exposed } }
}

function hidden(by: string, { exposed }: CatalogEntry): ExplainStep {
  return { by, at: 'listing', does: 'refuses', text: `${exposed} is hidden from this caller` }
}

function changed(by: string, before: CatalogEntry, now: CatalogEntry): ExplainStep[] {
  const facts = before.exposed === now.exposed ? [] : [`renames it to ${now.exposed}`]
  if (before.value.description !== now.value.description) facts.push('describes it in other words')
  else if (before.value !== now.value) facts.push('shows it in another form')
  if (facts.length === 0) return []
  return [{ by, at: 'listing', does: 'changes', text: facts.join(', ') }]
}
