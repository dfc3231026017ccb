import type { MapTree, Tree, TreeEntry } from './tree.ts'
import { changeUpstreams } from './tree.ts'

/** Adds `type` to upstreams without one, as in client settings: `command` is stdio, and `url` http or ws. */
export function inferTypes(tree: Tree): Tree {
  return changeUpstreams(tree, inferType)
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
