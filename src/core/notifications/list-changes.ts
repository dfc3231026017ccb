import { isDeepStrictEqual } from 'node:util'
import type { Session } from '../../api/index.ts'
import { mayBeOwnLists } from '../../api/upstream.ts'
import { type Kind, KINDS, kindsChangedBy, LIST_CHANGES, LISTS } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { View } from '../catalog/view.ts'
import type { Graph } from '../graph-types.ts'
import { baseOf, onlooker } from '../session.ts'
import type { ListAudience } from './list-audience.ts'

/** Changes within this time are one. */
const GATHER_MS = 50

/** A comparison that takes longer is given up, and counts as a difference. */
const COMPARE_MS = 5000

/** Views kept to compare with; the oldest is forgotten first. */
const MAX_SEEN = 4096

/** Viewers whose lists are compared; where there are more, all are told. */
const MAX_COMPARED = 64

const NONE: ReadonlySet<string> = new Set()

/** Compares lists with those that clients were given, so that only who would see another one is told. */
export class ListNews {
  readonly #graph: Graph
  /** By kind and viewer: the first view that was given, or the one at the last announcement. Those of single connections are half of them at most. */
  readonly #seen = new BoundedMap<string, View>({ max: MAX_SEEN, share: MAX_SEEN / 2 })
  /** Upstreams that changed while a viewer had no list yet, by kind and viewer: one may be on its way that is without them. */
  readonly #missed = new BoundedMap<string, ReadonlySet<string>>({ max: MAX_SEEN })
  /** Sessions that were given lists of connections of their own, with the key of the reader that each was then, by kind. */
  readonly #own = new WeakMap<Session, Partial<Record<Kind, string>>>()

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** Notes a view that was given to a client, by the key of the reader that it was when it asked; returns the upstreams that changed before, which it may be without. */
  saw(kind: Kind, session: Session, view: View, reader: string): ReadonlySet<string> {
    const key = `${kind} ${reader}`
    this.#note(kind, session, reader)
    if (!this.#seen.has(key)) this.#keep(key, session, view)
    const missed = this.#missed.get(key)
    if (missed === undefined) return NONE
    this.#missed.delete(key)
    return missed
  }

  /** Tells those of the audience for whom lists differ that may have changed. */
  async differing(
    method: string,
    changes: ListAudience,
    audience: Iterable<Session>,
  ): Promise<(session: Session) => boolean> {
    const meant = [...audience].filter(session => changes.has(session, this.#graph))
    const viewers = Map.groupBy(meant, session => this.#viewersOf(session))
    if (viewers.size > MAX_COMPARED) return session => changes.has(session, this.#graph)
    const differing = new Set<Session>()
    await Promise.all(
      [...viewers.values()].map(async sessions => {
        const differs = await Promise.all(
          kindsChangedBy(method).map(kind => this.#isAnother(kind, sessions, changes.upstreams)),
        )
        if (differs.includes(true)) for (const session of sessions) differing.add(session)
      }),
    )
    return session => differing.has(session)
  }

  /** Key of all who were shown the same lists and would be shown the same now. */
  #viewersOf(session: Session): string {
    const now = this.#graph.catalog.readerKey(session)
    const last = this.#own.get(baseOf(session))
    return last === undefined ? now : JSON.stringify([now, ...KINDS.map(kind => last[kind])])
  }

  /**
   * A legacy client that was given no list has nothing to compare. A modern one may have got its list from another process: what
   * matters then is whether it sees anything of the upstream.
   */
  async #isAnother(
    kind: Kind,
    sessions: readonly Session[],
    upstreams: ReadonlySet<string>,
  ): Promise<boolean> {
    const [session] = sessions
    if (session === undefined) return false
    const reader = this.#graph.catalog.readerKey(session)
    const key = `${kind} ${reader}`
    const seen = this.#seenBy(kind, session, key)
    if (seen.length === 0 && session.client.era === 'legacy') {
      this.#missed.set(key, new Set([...upstreams, ...(this.#missed.get(key) ?? NONE)]))
      return this.#graph.catalog.isDoubtful(kind)
    }
    const now = await viewSoon(kind, session, this.#graph)
    if (now === undefined) return true
    if (seen.length === 0) return now.all.entries.some(({ upstream }) => upstreams.has(upstream))
    for (const one of sessions) this.#note(kind, one, reader)
    const isSame = seen.every(view => isSameList(view, now.shown))
    if (!isSame || !this.#seen.has(key)) this.#keep(key, session, now.shown)
    return !isSame
  }

  /** Lists that a session may have been given last, by whichever connection: one that listens is not the one that lists. */
  #seenBy(kind: Kind, session: Session, key: string): View[] {
    const last = this.#own.get(baseOf(session))?.[kind]
    const ofAll = `${kind} ${this.#graph.catalog.listings.readerKey(session)}`
    const keys =
      last === undefined ? [ofAll, ...(session.client.era === 'modern' ? [key] : [])] : [`${kind} ${last}`]
    const seen = [...new Set(keys.flatMap(one => this.#seen.get(one) ?? []))]
    return seen.length > 0 ? seen : [shownNow(kind, session, this.#graph) ?? []].flat()
  }

  #keep(key: string, session: Session, view: View): void {
    this.#seen.set(key, view, this.#graph.catalog.ownLists(session) === '' ? undefined : 'own')
  }

  /** Most sessions have never had a list of their own: nothing is kept of them. */
  #note(kind: Kind, session: Session, reader: string): void {
    const last = this.#own.get(baseOf(session))
    const isOfAll = (): boolean => reader === this.#graph.catalog.listings.readerKey(session)
    if (last === undefined && (!mayBeOwnLists() || isOfAll())) return
    this.#own.set(baseOf(session), { ...last, [kind]: reader })
  }
}

/** Tells each client which of its lists is another one in `next` than it was in `before`, and nothing where none is. */
export async function tellDifferences(before: Graph, next: Graph): Promise<void> {
  // Readers whom one of the two shows the same may be shown different lists by the other.
  const keyOf = (session: Session): string =>
    JSON.stringify([before, next].map(({ catalog }) => catalog.readerKey(session)))
  const audience = new Set([before, next].flatMap(({ notifier }) => [...notifier.audience()]))
  const callers = Map.groupBy(audience, keyOf)
  // Clients that come during the comparison have seen nothing of before.
  const changed = new Map<Session, ReadonlySet<string>>()
  await Promise.all(
    [...callers.values()].map(async sessions => {
      const methods = await changedFor(sessions, before, next)
      for (const session of sessions) changed.set(session, methods)
    }),
  )
  for (const method of LIST_CHANGES) {
    const isMeant = (session: Session): boolean => changed.get(session)?.has(method) ?? false
    for (const { notifier } of [before, next]) notifier.tell(method, isMeant)
  }
}

async function changedFor(sessions: readonly Session[], before: Graph, next: Graph): Promise<Set<string>> {
  const differ = await Promise.all(KINDS.map(kind => isChanged(kind, sessions, before, next)))
  return new Set(KINDS.filter((_, index) => differ[index]).map(kind => LISTS[kind].changed))
}

async function isChanged(
  kind: Kind,
  sessions: readonly Session[],
  before: Graph,
  next: Graph,
): Promise<boolean> {
  const [session] = sessions
  if (session === undefined) return false
  if (before.catalog.isDoubtful(kind)) return true
  const seen = shownNow(kind, session, before)
  if (seen === undefined) return false
  const reader = next.catalog.readerKey(session)
  const now = await viewSoon(kind, session, next)
  if (now === undefined) return true
  for (const one of sessions) next.notifier.listGiven(kind, one, now.shown, reader)
  return !isSameList(seen, now.shown)
}

/** List that a client was shown last; undefined before its first one. */
function shownNow(kind: Kind, session: Session, { catalog }: Graph): View | undefined {
  const view = catalog.current(kind, session)
  return view && catalog.listings.shown(view, session).view
}

/** A view, and what a client is shown of it. */
interface Seen {
  readonly all: View
  readonly shown: View
}

/** The view of a graph as it is now; undefined when it cannot be had in time. */
function viewSoon(kind: Kind, session: Session, { catalog, clock }: Graph): Promise<Seen | undefined> {
  return new Promise(resolve => {
    const takeBack = clock.after(COMPARE_MS, () => resolve(undefined))
    catalog
      .load(kind, session)
      .then(all => ({ all, shown: catalog.listings.shown(all, session).view }))
      .catch(() => undefined)
      .then(resolve, () => undefined)
      .finally(takeBack)
  })
}

/** Tells whether two views show the same entries. */
function isSameList(one: View, other: View): boolean {
  return (
    one.entries.length === other.entries.length &&
    one.entries.every((entry, index) => {
      const { exposed, value } = other.entries[index] ?? {}
      return entry.exposed === exposed && (entry.value === value || isDeepStrictEqual(entry.value, value))
    })
  )
}

/** Asks servers that are remembered for what they list now, so that what is saved is true though no client asks. */
export class ListSaver {
  readonly #graph: Graph
  readonly #due = new Set<string>()

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** An upstream may list something else than it did. */
  listsChanged(name: string): void {
    const { upstreams, clock } = this.#graph
    if (this.#due.has(name) || upstreams.get(name)?.upstream.memory === undefined) return
    this.#due.add(name)
    clock.after(GATHER_MS, () => {
      this.#due.delete(name)
      this.#ask(name)
    })
  }

  #ask(name: string): void {
    const { upstreams, catalog } = this.#graph
    // One that went to sleep meanwhile is not woken for it.
    if (upstreams.get(name)?.upstream.state !== 'ready') return
    const session = onlooker(this.#graph.identity())
    for (const kind of KINDS) void catalog.part(name, kind, session).catch(() => undefined)
  }
}
