import type { Selection, Subject } from './purge.ts'

type Targets<T> = Map<string, Set<T>>

/** Things by upstream, method, name and tag, so that a purge looks only at what it may concern. */
export class Subjects<T extends Subject> {
  readonly #byUpstream = new Map<string, Map<string, Targets<T>>>()
  readonly #byTag = new Map<string, Set<T>>()

  add(one: T): void {
    const methods = madeIn(this.#byUpstream, one.upstream, () => new Map<string, Targets<T>>())
    const targets = madeIn(methods, one.method, () => new Map<string, Set<T>>())
    madeIn(targets, one.target, () => new Set<T>()).add(one)
    for (const tag of one.tags) madeIn(this.#byTag, tag, () => new Set<T>()).add(one)
  }

  delete(one: T): void {
    const methods = this.#byUpstream.get(one.upstream)
    const targets = methods?.get(one.method)
    takeFrom(targets, one.target, one)
    if (targets?.size === 0) methods?.delete(one.method)
    if (methods?.size === 0) this.#byUpstream.delete(one.upstream)
    for (const tag of one.tags) takeFrom(this.#byTag, tag, one)
  }

  /** All that a selection means, as a list of its own. */
  find(selection: Selection): T[] {
    if (selection.tag !== undefined)
      return [...(this.#byTag.get(selection.tag) ?? [])].filter(one => isMeant(one, selection))
    return named(this.#byUpstream, selection.upstream).flatMap(([upstream, methods]) =>
      named(methods, selection.method).flatMap(([, targets]) => meant(targets, upstream, selection)),
    )
  }
}

function meant<T>(targets: Targets<T>, upstream: string, { target }: Selection): T[] {
  if (typeof target === 'string') return [...(targets.get(target) ?? [])]
  return [...targets].flatMap(([name, set]) => (target?.(name, upstream) === false ? [] : [...set]))
}

/** Whether a selection means this one. */
export function isMeant(one: Subject, { upstream, method, tag, target }: Selection): boolean {
  if (upstream !== undefined && upstream !== one.upstream) return false
  if (method !== undefined && method !== one.method) return false
  if (tag !== undefined && !one.tags.includes(tag)) return false
  if (typeof target === 'string') return target === one.target
  return target?.(one.target, one.upstream) ?? true
}

function named<V>(map: Map<string, V>, key: string | undefined): [string, V][] {
  if (key === undefined) return [...map]
  const value = map.get(key)
  return value === undefined ? [] : [[key, value]]
}

function madeIn<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

function takeFrom<T>(map: Map<string, Set<T>> | undefined, key: string, one: T): void {
  const set = map?.get(key)
  set?.delete(one)
  if (set?.size === 0) map?.delete(key)
}
