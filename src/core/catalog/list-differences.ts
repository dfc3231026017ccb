import type { Session } from '../../api/index.ts'
import { viewerKey } from '../../api/principal.ts'
import { KINDS, type Kind, LISTS } from '../../protocol/methods.ts'
import type { Graph } from '../types.ts'
import type { View } from './view.ts'
import { isDeepStrictEqual } from 'node:util'

/** A comparison that takes longer is given up, and counts as a difference. */
const COMPARE_MS = 5000

/** Tells each client which of its lists is another one in `next` than it was in `before`, and nothing where none is. */
export async function tellDifferences(before: Graph, next: Graph): Promise<void> {
  const callers = new Map<string, Session>()
  for (const { notifier } of [before, next])
    for (const session of notifier.audience()) callers.set(viewerKey(session), session)
  const changed = new Map<string, Set<string>>()
  await Promise.all(
    [...callers].map(async ([key, session]) => changed.set(key, await changedFor(session, before, next))),
  )
  for (const method of new Set(KINDS.map(kind => LISTS[kind].changed))) {
    // Who came during the comparison has seen nothing of before.
    const isMeant = (session: Session): boolean => changed.get(viewerKey(session))?.has(method) ?? false
    for (const { notifier } of [before, next]) notifier.tell(method, isMeant)
  }
}

async function changedFor(session: Session, before: Graph, next: Graph): Promise<Set<string>> {
  const differ = await Promise.all(KINDS.map(kind => isChanged(kind, session, before, next)))
  return new Set(KINDS.filter((_, index) => differ[index]).map(kind => LISTS[kind].changed))
}

async function isChanged(kind: Kind, session: Session, before: Graph, next: Graph): Promise<boolean> {
  if (before.catalog.isDoubtful(kind)) return true
  const seen = before.catalog.current(kind, session)
  if (seen === undefined) return false
  const now = await viewSoon(kind, session, next)
  if (now === undefined) return true
  next.notifier.listGiven(kind, session, now)
  return !isSameList(seen, now)
}

/** The view of a graph as it is now; undefined when it cannot be had in time. */
export function viewSoon(kind: Kind, session: Session, { catalog, clock }: Graph): Promise<View | undefined> {
  return new Promise(resolve => {
    const takeBack = clock.after(COMPARE_MS, () => resolve(undefined))
    catalog
      .load(kind, session)
      .catch(() => undefined)
      .then(resolve, () => undefined)
      .finally(takeBack)
  })
}

/** Whether two views show the same entries. */
export function isSameList(one: View, other: View): boolean {
  return (
    one.entries.length === other.entries.length &&
    one.entries.every((entry, index) => {
      const { exposed, value } = other.entries[index] ?? {}
      return entry.exposed === exposed && (entry.value === value || isDeepStrictEqual(entry.value, value))
    })
  )
}
