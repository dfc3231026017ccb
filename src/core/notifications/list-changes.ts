import { isDeepStrictEqual } from 'node:util'
import type { Session } from '../../api/index.ts'
import { type Kind, KINDS, kindsChangedBy, LISTS } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { View } from '../catalog/view.ts'
import type { Graph } from '../graph-types.ts'
import { baseOf, onlooker } from '../session.ts'

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
  /** By kind and viewer: the first view that was given, or the one at the last announcement. */
  readonly #seen = new BoundedMap<string, View>({ max: MAX_SEEN })
  /** Upstreams that changed while a viewer had no list yet, by kind and viewer: one may be on its way that is without them. */
  readonly #missed = new BoundedMap<string, ReadonlySet<string>>({ max: MAX_SEEN })
  /** Sessions that were given lists of connections of their own, with the key of the reader that each was then, by kind. */
  readonly #own = new WeakMap<Session, Partial<Record<Kind, string>>>()

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** Notes a view that was given to a client; returns the upstreams that changed before, which it may be without. */
  saw(kind: Kind, session: Session, view: View): ReadonlySet<string> {
    const key = this.#keyOf(kind, session)
    this.#note(kind, session)
    if (!this.#seen.has(key)) this.#seen.set(key, view)
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
    for (const session of audience) viewers.set(this.readersOf(session), session)
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
    const key = this.#keyOf(kind, session)
    const seen = this.#seen.get(this.#lastKeyOf(kind, session)) ?? shownNow(kind, session, this.#graph)
    if (seen === undefined && session.client.era === 'legacy') {
      this.#missed.set(key, new Set([...upstreams, ...(this.#missed.get(key) ?? NONE)]))
      return this.#graph.catalog.isDoubtful(kind)
    }
    const now = await viewSoon(kind, session, this.#graph)
    if (now === undefined) return true
    if (seen === undefined) return now.all.entries.some(({ upstream }) => upstreams.has(upstream))
    if (isSameList(seen, now.shown)) return false
    this.#seen.set(key, now.shown)
    return true
  }

  /** Key of all who were shown the same lists and would be shown the same now. */
  readersOf(session: Session): string {
    const { catalog } = this.#graph
    const last = this.#own.get(baseOf(session))
    const now = catalog.readerKey(session)
    return last === undefined ? now : JSON.stringify([now, ...KINDS.map(kind => last[kind])])
  }

  #keyOf(kind: Kind, session: Session): string {
    return `${kind} ${this.#graph.catalog.readerKey(session)}`
  }

  /** The key of the list that a session was given last, by whichever connection. */
  #lastKeyOf(kind: Kind, session: Session): string {
    const own = this.#own.get(baseOf(session))?.[kind] ?? this.#graph.catalog.listings.readerKey(session)
    return `${kind} ${own}`
  }

  /** Most sessions have never had a list of their own: nothing is kept of them. */
  #note(kind: Kind, session: Session): void {
    const { catalog } = this.#graph
    const last = this.#own.get(baseOf(session))
    if (last === undefined && catalog.ownLists(session) === '') return
    this.#own.set(baseOf(session), { ...last, [kind]: catalog.readerKey(session) })
  }
}

/** Tells each client which of its lists is another one in `next` than it was in `before`, and nothing where none is. */
export async function tellDifferences(before: Graph, next: Graph): Promise<void> {
  const callers = new Map<string, Session>()
  // Readers whom one of the two shows the same may be shown different lists by the other.
  const keyOf = (session: Session): string =>
    JSON.stringify([before, next].map(({ catalog }) => catalog.listings.readerKey(session)))
  for (const { notifier } of [before, next])
    for (const session of notifier.audience()) callers.set(keyOf(session), session)
  const changed = new Map<string, Set<string>>()
  await Promise.all(
    [...callers].map(async ([key, session]) => changed.set(key, await changedFor(session, before, next))),
  )
  for (const method of new Set(KINDS.map(kind => LISTS[kind].changed))) {
    // Clients that came during the comparison have seen nothing of before.
    const isMeant = (session: Session): boolean => changed.get(keyOf(session))?.has(method) ?? false
    for (const { notifier } of [before, next]) notifier.tell(method, isMeant)
  }
}

async function changedFor(session: Session, before: Graph, next: Graph): Promise<Set<string>> {
  const differ = await Promise.all(KINDS.map(kind => isChanged(kind, session, before, next)))
  return new Set(KINDS.filter((_, index) => differ[index]).map(kind => LISTS[kind].changed))
}

async function isChanged(kind: Kind, session: Session, before: Graph, next: Graph): Promise<boolean> {
  if (before.catalog.isDoubtful(kind)) return true
  const seen = shownNow(kind, session, before)
  if (seen === undefined) return false
  const now = await viewSoon(kind, session, next)
  if (now === undefined) return true
  next.notifier.listGiven(kind, session, now.shown)
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
