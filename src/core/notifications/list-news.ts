import type { Session } from '../../api/index.ts'
import { viewerKey } from '../../api/principal.ts'
import { type Kind, kindsChangedBy } from '../../protocol/methods.ts'
import { isSameList, viewSoon } from '../catalog/list-differences.ts'
import type { View } from '../catalog/view.ts'
import type { Graph } from '../types.ts'

/** Views kept to compare with; the oldest is forgotten first. */
const MAX_SEEN = 4096
/** Viewers whose lists are compared; where there are more, all are told. */
const MAX_COMPARED = 64

const NONE: ReadonlySet<string> = new Set()

/** Compares lists with those that clients were given, so that only who would see another one is told. */
export class ListNews {
  readonly #graph: Graph
  /** By kind and viewer: the first view that was given, or the one at the last announcement. */
  readonly #seen = new Map<string, View>()
  /** Upstreams that changed while a viewer had no list yet, by kind and viewer: one may be on its way that is without them. */
  readonly #missed = new Map<string, ReadonlySet<string>>()

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** Notes a view that was given to a client; returns the upstreams that changed before, which it may be without. */
  saw(kind: Kind, session: Session, view: View): ReadonlySet<string> {
    const key = keyOf(kind, session)
    if (!this.#seen.has(key)) keep(this.#seen, key, view)
    const missed = this.#missed.get(key)
    if (missed === undefined) return NONE
    this.#missed.delete(key)
    return missed
  }

  /** The viewers for whom lists of these upstreams differ; undefined for all of them. */
  async differing(
    method: string,
    upstreams: ReadonlySet<string>,
    audience: Iterable<Session>,
  ): Promise<ReadonlySet<string> | undefined> {
    const viewers = new Map<string, Session>()
    for (const session of audience) viewers.set(viewerKey(session), session)
    if (viewers.size > MAX_COMPARED) return undefined
    const differing = new Set<string>()
    await Promise.all(
      [...viewers].map(async ([viewer, session]) => {
        const differs = await Promise.all(
          kindsChangedBy(method).map(kind => this.#isAnother(kind, session, upstreams)),
        )
        if (differs.includes(true)) differing.add(viewer)
      }),
    )
    return differing
  }

  /**
   * A legacy client that was given no list has nothing to compare. A modern one may have got its list from another process: what
   * matters then is whether it sees anything of the upstream.
   */
  async #isAnother(kind: Kind, session: Session, upstreams: ReadonlySet<string>): Promise<boolean> {
    const key = keyOf(kind, session)
    const seen = this.#seen.get(key) ?? this.#graph.catalog.current(kind, session)
    if (seen === undefined && session.client.era === 'legacy') {
      keep(this.#missed, key, new Set([...upstreams, ...(this.#missed.get(key) ?? NONE)]))
      return this.#graph.catalog.isDoubtful(kind)
    }
    const now = await viewSoon(kind, session, this.#graph)
    if (now === undefined) return true
    if (seen === undefined) return now.entries.some(({ upstream }) => upstreams.has(upstream))
    if (isSameList(seen, now)) return false
    keep(this.#seen, key, now)
    return true
  }
}

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key)
  kept.set(key, value)
  const oldest = kept.keys().next().value
  if (kept.size > MAX_SEEN && oldest !== undefined) kept.delete(oldest)
}

function keyOf(kind: Kind, session: Session): string {
  return `${kind} ${viewerKey(session)}`
}
