import { dirname } from 'node:path/posix'
import type { Source } from './sources.ts'

/** All that each name imports: a file, or a folder. */
type Edges = ReadonlyMap<string, ReadonlySet<string>>

/** Every ring of files that import each other, as one text per ring; imports of types and `import()` count as well. */
export function findRings(sources: readonly Source[]): string[] {
  const files = new Set(sources.map(({ file }) => file))
  const next = new Map(sources.map(({ file, imports }) => [file, targets(imports, files)]))
  return ringsOf(next)
}

/** Every ring of folders that lie side by side and import each other. What a folder and its subfolders share is their own affair. */
export function findFolderRings(sources: readonly Source[]): string[] {
  const files = new Set(sources.map(({ file }) => file))
  const levels = new Map<string, Map<string, Set<string>>>()
  for (const { file, imports } of sources) {
    for (const to of targets(imports, files)) {
      const pair = siblings(file, to)
      if (pair === undefined) continue
      const [parent, from, target] = pair
      const edges = levels.get(parent) ?? new Map<string, Set<string>>()
      levels.set(parent, edges.set(from, (edges.get(from) ?? new Set()).add(target)))
    }
  }
  return [...levels.values()].flatMap(ringsOf)
}

/** The folders beside each other in which two files lie, with their parent; undefined where one holds the other. */
function siblings(a: string, b: string): readonly [parent: string, a: string, b: string] | undefined {
  const [left, right] = [dirname(a).split('/'), dirname(b).split('/')]
  const at = left.findIndex((name, index) => name !== right[index])
  if (at < 0 || at >= left.length || at >= right.length) return undefined
  const upTo = (parts: readonly string[]): string => parts.slice(0, at + 1).join('/')
  return [left.slice(0, at).join('/'), upTo(left), upTo(right)]
}

function targets(imports: Source['imports'], files: ReadonlySet<string>): Set<string> {
  return new Set(imports.filter(({ own, to }) => own && files.has(to)).map(({ to }) => to))
}

/** Tarjan's strongly connected components of more than one member. */
function ringsOf(edges: Edges): string[] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const rings: string[] = []

  const visit = (name: string): void => {
    const number = order.size
    order.set(name, number)
    low.set(name, number)
    open.push(name)
    for (const to of edges.get(name) ?? []) {
      if (!order.has(to)) visit(to)
      if (open.includes(to)) low.set(name, Math.min(low.get(name) ?? 0, low.get(to) ?? 0))
    }
    if (low.get(name) !== number) return
    const ring = open.splice(open.indexOf(name))
    if (ring.length > 1) rings.push(ring.sort().join(' ↔ '))
  }
  for (const name of edges.keys()) if (!order.has(name)) visit(name)
  return rings
}
