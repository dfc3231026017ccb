import type { Entry, Origin, Scalar, Tree } from '../source/tree.ts'

/** A tree as it is kept: what it is, its line and column, and what is in it. The file is known by who reads it. */
export type WrittenTree =
  | readonly ['s', line: number, col: number, value: Scalar]
  | readonly ['l', line: number, col: number, items: readonly WrittenTree[]]
  | readonly ['m', line: number, col: number, entries: readonly WrittenEntry[]]

type WrittenEntry = readonly [name: string, line: number, col: number, tree: WrittenTree]

/** Writes a tree that was read from one text; undefined for any other. */
export function writeTree(tree: Tree): WrittenTree | undefined {
  const { origin } = tree
  if (origin.from !== 'file' || origin.by !== undefined) return undefined
  const { line, col } = origin
  // JSON has no -0.
  if (tree.kind === 'scalar')
    return tree.removes === true || Object.is(tree.value, -0) ? undefined : ['s', line, col, tree.value]
  if (tree.kind === 'list') {
    const items = tree.items.map(writeTree)
    return items.every(item => item !== undefined) ? ['l', line, col, items] : undefined
  }
  if (tree.fresh === true) return undefined
  const entries = [...tree.entries].map(([name, entry]) => writeEntry(name, entry))
  return entries.every(entry => entry !== undefined) ? ['m', line, col, entries] : undefined
}

function writeEntry(name: string, { key, tree }: Entry): WrittenEntry | undefined {
  const written = writeTree(tree)
  return key.from !== 'file' || written === undefined ? undefined : [name, key.line, key.col, written]
}

/** The tree of a text, as it was read from this file. */
export function readTree(written: WrittenTree, file: string): Tree {
  const [kind, line, col, inner] = written
  const origin: Origin = { from: 'file', file, line, col }
  if (kind === 's') return { kind: 'scalar', origin, value: inner }
  if (kind === 'l') return { kind: 'list', origin, items: inner.map(item => readTree(item, file)) }
  const entries = new Map<string, Entry>()
  for (const [name, row, column, tree] of inner)
    entries.set(name, { key: { from: 'file', file, line: row, col: column }, tree: readTree(tree, file) })
  return { kind: 'map', origin, entries }
}
