import { isDeepStrictEqual } from 'node:util'
import type { Session } from '../../api/index.ts'
import type { Kind } from '../../protocol/methods.ts'
import { KINDS, getChangedKinds, LIST_CHANGES, LISTS } from '../../protocol/methods.ts'
import { settlesWithin } from '../../util/clock.ts'
import type { View } from '../catalog/view.ts'
import type { Graph } from '../graph-types.ts'

/** Changes within this time are announced once. */
const DEBOUNCE_MS = 250
/** A list that takes longer to fetch after a reload counts as changed. */
const MAX_COMPARE_MS = 5000
/** Maximum separate audiences per change; beyond them, all sessions are notified. */
const MAX_AUDIENCES = 64

export type Audience = (session: Session) => boolean

const ALL_SESSIONS: Audience = () => true

interface ListChange {
  readonly method: string
  readonly upstream: string
  audiences: Set<Audience>
  isSaid: boolean
}

/** Announces changed upstream lists to the sessions that may see any of their entries. */
export class ListChangeNotifier {
  readonly #graph: Graph
  readonly #changes = new Map<string, ListChange>()
  #isScheduled = false

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** Records that a list may have changed for these sessions; `isSaid` if the server announced it. */
  add(method: string, upstream: string, audience = ALL_SESSIONS, isSaid = false): void {
    const key = `${method} ${upstream}`
    const change = this.#changes.get(key) ?? { method, upstream, audiences: new Set<Audience>(), isSaid }
    const isFull = change.audiences.size >= MAX_AUDIENCES
    change.audiences = isFull ? new Set([ALL_SESSIONS]) : change.audiences.add(audience)
    change.isSaid ||= isSaid
    this.#changes.set(key, change)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#graph.clock.after(DEBOUNCE_MS, () => void this.#announce())
  }

  async #announce(): Promise<void> {
    const changes = [...this.#changes.values()]
    this.#changes.clear()
    const audiencesByMethod = new Map<string, Audience[]>()
    await Promise.all(
      changes.flatMap(({ method, upstream, audiences, isSaid }) =>
        [...audiences].flatMap(audience =>
          getChangedKinds(method).map(async kind => {
            const viewers = await this.#viewers(kind, upstream, audience, isSaid).catch(() => audience)
            if (viewers !== undefined)
              audiencesByMethod.set(method, [...(audiencesByMethod.get(method) ?? []), viewers])
          }),
        ),
      ),
    )
    for (const [method, audiences] of audiencesByMethod)
      this.#graph.notifier.notifyAudience(method, session => audiences.some(isMeant => isMeant(session)))
    this.#isScheduled = false
    if (this.#changes.size > 0) this.#schedule()
  }

  /** Selects the audience that may see the change; undefined if the list has not changed. */
  async #viewers(kind: Kind, upstream: string, audience: Audience, isSaid: boolean): Promise<Audience | undefined> {
    const { catalog, notifier, upstreams } = this.#graph
    // Other sessions cannot fetch connection-specific lists.
    if (audience !== ALL_SESSIONS) return audience
    // Saved lists must be current at the next start, even without listening clients.
    const isSaved = upstreams.get(upstream)?.upstream.memory !== undefined
    if (!isSaved && notifier.listAudience().next().done === true) return undefined
    const change = await catalog.findChange(kind, upstream)
    if (change === undefined) return undefined
    // A modern client may have received the list from another process.
    const mayHave: Audience = ({ client }) => change.wasGiven || (isSaid && client.era === 'modern')
    return session => mayHave(session) && change.isSeenBy(session)
  }
}

/** Notifies each client of its lists that differ between `before` and `next`. */
export async function notifyReloaded(before: Graph, next: Graph): Promise<void> {
  const graphs = [before, next]
  const audience = new Set(graphs.flatMap(({ notifier }) => [...notifier.listAudience()]))
  // Sessions with the same view in one graph may have different ones in the other.
  const readers = Map.groupBy(audience, session =>
    JSON.stringify(graphs.map(({ catalog }) => catalog.listings.getReaderKey(session))),
  )
  const changed = new Map<Session, readonly string[]>()
  await Promise.all(
    [...readers.values()].map(async ([session, ...remaining]) => {
      if (session === undefined) return
      const differs = await Promise.all(KINDS.map(kind => isChanged(kind, session, before, next)))
      const methods = KINDS.filter((_, index) => differs[index]).map(kind => LISTS[kind].changed)
      for (const one of [session, ...remaining]) changed.set(one, methods)
    }),
  )
  for (const method of LIST_CHANGES)
    for (const { notifier } of graphs)
      notifier.notifyAudience(method, session => changed.get(session)?.includes(method) === true)
}

async function isChanged(kind: Kind, session: Session, before: Graph, next: Graph): Promise<boolean> {
  if (before.catalog.isDoubtful(kind)) return true
  const cachedView = before.catalog.getCachedView(kind, session)
  if (cachedView === undefined) return false
  const now = next.catalog.load(kind, session).catch(() => undefined)
  const view = (await settlesWithin(next.clock, MAX_COMPARE_MS, now)) ? await now : undefined
  return (
    view === undefined ||
    !isDeepStrictEqual(describeEntry(cachedView, session, before), describeEntry(view, session, next))
  )
}

function describeEntry(view: View, session: Session, { catalog }: Graph): unknown[] {
  const { entries } = catalog.listings.getListedView(view, session).view
  return entries.map(({ exposed, value }) => ({ exposed, value }))
}
