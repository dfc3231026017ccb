import type { Session } from '../../api/index.ts'
import type { Graph } from '../graph-types.ts'

/** Sessions that a change is for: all, those that are shown the lists for all, or some. */
export type Meant = 'all' | 'rest' | ((session: Session) => boolean)

/** Groups of some sessions, beyond which all are looked at. */
const MAX_GROUPS = 256

/** Changes of one kind of list since they were told last, and who may see them. */
export class ListAudience {
  readonly #meant = new Map<string, Set<Meant>>()

  /** An upstream may list something else for these. */
  add(upstream: string, meant: Meant): void {
    const known = this.#meant.get(upstream)
    if (known === undefined || meant === 'all' || known.size >= MAX_GROUPS)
      this.#meant.set(upstream, new Set(known === undefined ? [meant] : (['all'] as const)))
    else if (!known.has('all')) known.add(meant)
  }

  get upstreams(): ReadonlySet<string> {
    return new Set(this.#meant.keys())
  }

  /** Tells whether a session may be shown another list than before. */
  has(session: Session, { upstreams }: Graph): boolean {
    for (const [name, groups] of this.#meant) {
      const isOfRest = (): boolean => upstreams.get(name)?.upstream.listsOf?.(session) === undefined
      for (const meant of groups)
        if (meant === 'all' || (meant === 'rest' ? isOfRest() : meant(session))) return true
    }
    return false
  }
}
