import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Alias, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { DEEPEST, type Entry, type MapTree, type Origin, type Tree } from './tree.ts'

/** Most values of one file, what aliases repeat included. */
const MOST_VALUES = 50_000

type Refuse = (offset: number, message: string, hint?: string) => void

/** Turns parsed YAML into a tree; undefined after refusing what is wrong with it. */
export function treeOfNode(
  node: unknown,
  place: (offset: number) => Origin,
  refuse: Refuse,
): Tree | undefined {
  const reader = new NodeReader(place, refuse)
  const tree = reader.read(node as Node | null)
  return reader.refused ? undefined : tree
}

/** Aliases share the tree of their anchor, so that repeating one costs nothing but is still counted. */
class NodeReader {
  refused = false
  readonly #place: (offset: number) => Origin
  readonly #refuse: Refuse
  readonly #anchors = new Map<string, { tree: Tree; size: number } | 'open'>()
  #values = 0
  #depth = 0

  constructor(place: (offset: number) => Origin, refuse: Refuse) {
    this.#place = place
    this.#refuse = refuse
  }

  read(node: Node | null): Tree {
    const origin = this.#place(node?.range?.[0] ?? 0)
    if (node === null || !this.#count(1, node)) return { kind: 'scalar', origin, value: null }
    if (isAlias(node)) return this.#alias(node, origin)
    const anchor = (node as { anchor?: string }).anchor
    if (anchor === undefined) return this.#plain(node, origin)
    const before = this.#values
    this.#anchors.set(anchor, 'open')
    const tree = this.#plain(node, origin)
    this.#anchors.set(anchor, { tree, size: this.#values - before + 1 })
    return tree
  }

  #plain(node: Node, origin: Origin): Tree {
    if (isScalar(node)) return this.#scalar(node, origin)
    if (!isMap(node) && !isSeq(node)) return this.#wrong(node, 'this kind of value is not supported', origin)
    if (this.#depth >= DEEPEST) return this.#wrong(node, `nested deeper than ${DEEPEST} levels`, origin)
    this.#depth++
    const tree = isMap(node) ? this.#map(node, origin) : this.#list(node, origin)
    this.#depth--
    return tree
  }

  #list({ items }: YAMLSeq, origin: Origin): Tree {
    return { kind: 'list', origin, items: items.map(item => this.read(item as Node | null)) }
  }

  #scalar(node: Scalar, origin: Origin): Tree {
    const { value } = node
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return { kind: 'scalar', origin, value }
    if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'scalar', origin, value }
    return this.#wrong(
      node,
      'this kind of value is not supported',
      origin,
      'use text, numbers, true, false or null',
    )
  }

  #map(node: YAMLMap, origin: Origin): Tree {
    const entries = new Map<string, Entry>()
    const merged: MapTree[] = []
    for (const pair of node.items) {
      if (isMergeKey(pair)) merged.push(...this.#merged(pair.value as Node | null))
      else this.#entry(pair as Pair<Node, Node | null>, entries)
    }
    for (const { entries: more } of merged)
      for (const [key, entry] of more) if (!entries.has(key)) entries.set(key, entry)
    return { kind: 'map', origin, entries }
  }

  #entry(pair: Pair<Node, Node | null>, entries: Map<string, Entry>): void {
    const name = keyOf(pair.key)
    const offset = pair.key?.range?.[0] ?? 0
    const key = this.#place(offset)
    if (name === undefined)
      return void this.#wrong(pair.key, 'a key must be text', key, 'put the key into quotes')
    const first = entries.get(name)
    if (first !== undefined)
      return void this.#wrong(
        pair.key,
        `key "${name}" is there twice`,
        key,
        `the first is ${placeText(first.key)}`,
      )
    entries.set(name, {
      key,
      tree: pair.value === null ? { kind: 'scalar', origin: key, value: null } : this.read(pair.value),
    })
  }

  #merged(node: Node | null): MapTree[] {
    const tree = this.read(node)
    const maps = tree.kind === 'list' ? tree.items : [tree]
    if (maps.every(map => map.kind === 'map')) return [...maps]
    this.#wrong(node, '"<<" takes a map or a list of maps', tree.origin, 'write "<<: *anchor"')
    return []
  }

  #alias(node: Alias, origin: Origin): Tree {
    const target = this.#anchors.get(node.source)
    if (target === undefined)
      return this.#wrong(node, `there is no anchor "&${node.source}" before this alias`, origin)
    if (target === 'open') return this.#wrong(node, `alias "*${node.source}" contains itself`, origin)
    return this.#count(target.size, node) ? target.tree : { kind: 'map', origin, entries: new Map() }
  }

  #count(values: number, node: Node): boolean {
    if (this.#values > MOST_VALUES) return false
    this.#values += values
    if (this.#values <= MOST_VALUES) return true
    this.#wrong(node, `more than ${MOST_VALUES} values, counting what aliases repeat`, this.#place(0))
    return false
  }

  #wrong(node: Node | null, message: string, origin: Origin, hint?: string): Tree {
    this.refused = true
    this.#refuse(node?.range?.[0] ?? 0, message, hint)
    return { kind: 'scalar', origin, value: null }
  }
}

function isMergeKey(pair: Pair): boolean {
  return (
    isScalar(pair.key) &&
    (pair.key.source === '<<' || typeof pair.key.value === 'symbol') &&
    pair.key.type === 'PLAIN'
  )
}

function keyOf(key: Node | null): string | undefined {
  if (!isScalar(key)) return undefined
  if (typeof key.value === 'string') return key.value
  return key.value === null ? undefined : (key.source ?? String(key.value))
}

function placeText(origin: Origin): string {
  return origin.from === 'file' ? `in line ${origin.line}` : 'above'
}
