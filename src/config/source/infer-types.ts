import type { MapTree, Tree, TreeEntry } from './tree.ts'

/** Adds `type` to upstreams without one, as in client settings: `command` is stdio, and `url` http or ws. */
export function inferTypes(tree: Tree): Tree {
  const upstreams = tree.kind === 'map' ? tree.entries.get('upstreams') : undefined
  if (tree.kind !== 'map' || upstreams?.tree.kind !== 'map') return tree
  const entries = [...upstreams.tree.entries].map(([name, entry]): [string, TreeEntry] => [
    name,
    entry.tree.kind === 'map' ? { ...entry, tree: inferType(entry.tree) } : entry,
  ])
  const typed: TreeEntry = { ...upstreams, tree: { ...upstreams.tree, entries: new Map(entries) } }
  return { ...tree, entries: new Map([...tree.entries, ['upstreams', typed]]) }
}

function inferType(server: MapTree): MapTree {
  const { entries, origin } = server
  const type = entries.has('type') ? undefined : findType(server)
  if (type === undefined) return server
  const entry: TreeEntry = { key: origin, tree: { kind: 'scalar', origin, value: type } }
  return { ...server, entries: new Map([['type', entry], ...entries]) }
}

function findType({ entries }: MapTree): string | undefined {
  if (entries.has('command')) return 'stdio'
  const url = entries.get('url')?.tree
  if (url?.kind !== 'scalar' || typeof url.value !== 'string') return undefined
  return /^wss?:/i.test(url.value) ? 'ws' : 'http'
}
