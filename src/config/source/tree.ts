import { isPlain, setOwn } from '../../util/plain-data.ts'
import { appendPointer } from '../../util/finding.ts'

export type ValueOrigin =
  | {
      readonly from: 'file'
      readonly file: string
      readonly line: number
      readonly col: number
    }
  | { readonly from: 'set'; readonly text: string }
  | { readonly from: 'value' }
  | { readonly from: 'default' }

export type Scalar = string | number | boolean | null

/** A configuration tree with the origin of each value. */
export type Tree = MapTree | ListTree | ScalarTree

export interface MapTree {
  readonly kind: 'map'
  readonly origin: ValueOrigin
  readonly entries: ReadonlyMap<string, TreeEntry>
  /** Replaces instead of merging. */
  readonly fresh?: boolean
}

export interface TreeEntry {
  readonly key: ValueOrigin
  readonly tree: Tree
}

interface ListTree {
  readonly kind: 'list'
  readonly origin: ValueOrigin
  readonly items: readonly Tree[]
}

export interface ScalarTree {
  readonly kind: 'scalar'
  readonly origin: ValueOrigin
  readonly value: Scalar
  /** True if this `null` removed a value. */
  readonly removes?: boolean
}

/** Plain data with origins by JSON pointer. */
export interface Located {
  readonly value: unknown
  readonly origins: Map<string, ValueOrigin>
  readonly keys: Map<string, ValueOrigin>
  /** Pointers of `null`s without effect. */
  readonly empty: readonly string[]
}

/** Converts a tree to plain data; `null` in a map removes its key. */
export function locateValues(tree: Tree): Located {
  const located = {
    origins: new Map<string, ValueOrigin>(),
    keys: new Map<string, ValueOrigin>(),
    empty: [] as string[],
  }
  return { ...located, value: toPlainValue(tree, '', located) }
}

function toPlainValue(tree: Tree, pointer: string, located: Omit<Located, 'value'> & { empty: string[] }): unknown {
  located.origins.set(pointer, tree.origin)
  if (tree.kind === 'scalar') return tree.value
  if (tree.kind === 'list') return tree.items.map((item, i) => toPlainValue(item, appendPointer(pointer, i), located))
  const value: Record<string, unknown> = {}
  for (const [key, entry] of tree.entries) {
    const at = appendPointer(pointer, key)
    located.keys.set(at, entry.key)
    if (entry.tree.kind !== 'scalar' || entry.tree.value !== null)
      setOwn(value, key, toPlainValue(entry.tree, at, located))
    else if (entry.tree.removes !== true) noteEmpty(at, entry.tree, located)
  }
  return value
}

function noteEmpty(pointer: string, tree: ScalarTree, located: Omit<Located, 'value'> & { empty: string[] }): void {
  located.empty.push(pointer)
  located.origins.set(pointer, tree.origin)
}

/** Nesting limit. */
export const MAX_DEPTH = 64

/** Creates a tree from plain data; undefined if it cannot be represented. */
export function createTree(value: unknown, origin: ValueOrigin, depth = 0): Tree | undefined {
  if (depth > MAX_DEPTH) return undefined
  if (isScalar(value)) return { kind: 'scalar', origin, value }
  if (Array.isArray(value)) return createList(value, origin, depth)
  return isPlain(value) ? createMap(value, origin, depth) : undefined
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function createList(values: readonly unknown[], origin: ValueOrigin, depth: number): Tree | undefined {
  const items = values.map(item => createTree(item, origin, depth + 1))
  return items.every(item => item !== undefined) ? { kind: 'list', origin, items } : undefined
}

function createMap(values: object, origin: ValueOrigin, depth: number): Tree | undefined {
  const entries = new Map<string, TreeEntry>()
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue
    const tree = createTree(value, origin, depth + 1)
    if (tree === undefined) return undefined
    entries.set(key, { key: origin, tree })
  }
  return { kind: 'map', origin, entries }
}

/** Merges two trees: maps merge, other values replace, `null` removes. */
export function mergeTrees(base: Tree | undefined, over: Tree): Tree {
  if (base === undefined) return over
  if (over.kind === 'map')
    return base.kind === 'map' && over.fresh !== true ? mergeMaps(base, over) : { ...over, fresh: true }
  return over.kind === 'scalar' && over.value === null ? { ...over, removes: true } : over
}

function mergeMaps(base: MapTree, over: MapTree): Tree {
  const entries = new Map<string, TreeEntry>(base.entries)
  for (const [name, { key, tree }] of over.entries) {
    entries.set(name, { key, tree: mergeTrees(base.entries.get(name)?.tree, tree) })
  }
  return { ...base, origin: over.origin, entries }
}

/** Changes each map under `upstreams`. */
export function changeUpstreams(tree: Tree, change: (upstream: MapTree, name: string) => MapTree): Tree {
  const upstreams = tree.kind === 'map' ? tree.entries.get('upstreams') : undefined
  if (tree.kind !== 'map' || upstreams?.tree.kind !== 'map') return tree
  const entries = [...upstreams.tree.entries].map(([name, entry]): [string, TreeEntry] => [
    name,
    entry.tree.kind === 'map' ? { ...entry, tree: change(entry.tree, name) } : entry,
  ])
  const changed: TreeEntry = { ...upstreams, tree: { ...upstreams.tree, entries: new Map(entries) } }
  return { ...tree, entries: new Map([...tree.entries, ['upstreams', changed]]) }
}
