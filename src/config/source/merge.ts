import type { Entry, MapTree, Tree } from './tree.ts'

/** Lays one tree over another: maps merge, everything else replaces, `null` removes. */
export function mergeTrees(base: Tree | undefined, over: Tree): Tree {
  if (base === undefined) return over
  if (over.kind === 'map')
    return base.kind === 'map' && over.fresh !== true ? mergeMaps(base, over) : { ...over, fresh: true }
  return over.kind === 'scalar' && over.value === null ? { ...over, removes: true } : over
}

function mergeMaps(base: MapTree, over: MapTree): Tree {
  const entries = new Map<string, Entry>(base.entries)
  for (const [name, { key, tree }] of over.entries) {
    entries.set(name, { key, tree: mergeTrees(base.entries.get(name)?.tree, tree) })
  }
  return { ...base, origin: over.origin, entries }
}
