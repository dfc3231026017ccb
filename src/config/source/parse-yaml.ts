import type { Alias, ErrorCode, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument } from 'yaml'
import type { ReportProblem } from '../problem.ts'
import { createProblem } from '../problem.ts'
import type { TreeEntry, MapTree, ValueOrigin, Tree } from './tree.ts'
import { MAX_DEPTH } from './tree.ts'

const MAX_MISTAKES = 20
/** Bounds parsing time; valid files need far fewer. */
const MAX_TOKENS = 250_000

/** Control characters that YAML forbids, except line breaks and tabs. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_INDENT: 'align the keys of a map, and close brackets',
  BLOCK_AS_IMPLICIT_KEY: 'quote values that contain ": "',
  MISSING_CHAR: 'close brackets and quotes, and write "key: value" with a space',
  MULTILINE_IMPLICIT_KEY: 'write "key: value" with a space',
  MULTIPLE_DOCS: 'use one document, without "---" in between',
  RESOURCE_EXHAUSTION: 'nested too deep',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'quote values that contain "${…}", { } or [ ]',
}

/** Parses YAML or JSON; undefined after reporting errors. */
export function parseYaml(text: string, file: string, report: ReportProblem): Tree | undefined {
  const lineCounter = new LineCounter()
  const locate = (offset: number): ValueOrigin => {
    const { line, col } = lineCounter.linePos(Math.min(offset, text.length))
    return { from: 'file', file, line: Math.max(line, 1), col: Math.max(col, 1) }
  }
  let refused = 0
  const refuse = (offset: number, message: string, hint?: string): void => {
    if (++refused <= MAX_MISTAKES) report(createProblem(locate(offset), { pointer: '', message, hint }))
  }
  if (hasTooManyTokens(text)) return void refuse(0, 'file too complex for a configuration')
  const options = { lineCounter, prettyErrors: false, uniqueKeys: false, merge: true, stringKeys: false }
  const document = parseDocument(text, options)
  const control = CONTROL.exec(text)
  if (control !== null) refuse(control.index, 'control character not allowed', 'save the file as UTF-8 text')
  // Later errors mostly result from the first.
  const { errors, warnings } = document
  for (const { code, pos, message } of errors.length > 0 ? errors.slice(0, 1) : warnings)
    refuse(pos[0], message, HINTS[code])
  return refused > 0 ? undefined : parseNode(document.contents, locate, refuse)
}

function hasTooManyTokens(text: string): boolean {
  const tokens = new Lexer().lex(text)
  for (let count = 0; tokens.next().done !== true; count++) if (count >= MAX_TOKENS) return true
  return false
}

/** Value limit per file, including alias expansion. */
const MAX_VALUES = 50_000

type Refuse = (offset: number, message: string, hint?: string) => void

/** Converts parsed YAML to a tree; undefined after reporting errors. */
export function parseNode(node: unknown, locate: (offset: number) => ValueOrigin, refuse: Refuse): Tree | undefined {
  const reader = new NodeReader(locate, refuse)
  const tree = reader.read(node as Node | null)
  return reader.refused ? undefined : tree
}

/** Aliases share their anchor's tree, but count towards the limit. */
class NodeReader {
  refused = false
  readonly #locate: (offset: number) => ValueOrigin
  readonly #refuse: Refuse
  readonly #anchors = new Map<string, { tree: Tree; size: number } | 'open'>()
  #values = 0
  #depth = 0

  constructor(locate: (offset: number) => ValueOrigin, refuse: Refuse) {
    this.#locate = locate
    this.#refuse = refuse
  }

  read(node: Node | null): Tree {
    const origin = this.#locate(node?.range?.[0] ?? 0)
    if (node === null || !this.#countValues(1, node)) return { kind: 'scalar', origin, value: null }
    if (isAlias(node)) return this.#alias(node, origin)
    const anchor = (node as { anchor?: string }).anchor
    if (anchor === undefined) return this.#readValue(node, origin)
    const before = this.#values
    this.#anchors.set(anchor, 'open')
    const tree = this.#readValue(node, origin)
    this.#anchors.set(anchor, { tree, size: this.#values - before + 1 })
    return tree
  }

  #readValue(node: Node, origin: ValueOrigin): Tree {
    if (isScalar(node)) return this.#scalar(node, origin)
    if (!isMap(node) && !isSeq(node)) return this.#refuseNode(node, 'unsupported type of value', origin)
    if (this.#depth >= MAX_DEPTH) return this.#refuseNode(node, `nested deeper than ${MAX_DEPTH} levels`, origin)
    this.#depth++
    const tree = isMap(node) ? this.#map(node, origin) : this.#list(node, origin)
    this.#depth--
    return tree
  }

  #list({ items }: YAMLSeq, origin: ValueOrigin): Tree {
    return { kind: 'list', origin, items: items.map(item => this.read(item as Node | null)) }
  }

  #scalar(node: Scalar, origin: ValueOrigin): Tree {
    const { value } = node
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return { kind: 'scalar', origin, value }
    if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'scalar', origin, value }
    return this.#refuseNode(node, 'unsupported type of value', origin, 'use text, numbers, true, false or null')
  }

  #map(node: YAMLMap, origin: ValueOrigin): Tree {
    const entries = new Map<string, TreeEntry>()
    const merged: MapTree[] = []
    for (const pair of node.items) {
      if (isMergeKey(pair)) merged.push(...this.#merged(pair.value as Node | null))
      else this.#entry(pair as Pair<Node, Node | null>, entries)
    }
    for (const { entries: more } of merged)
      for (const [key, entry] of more) if (!entries.has(key)) entries.set(key, entry)
    return { kind: 'map', origin, entries }
  }

  #entry(pair: Pair<Node, Node | null>, entries: Map<string, TreeEntry>): void {
    const name = getKeyText(pair.key)
    const offset = pair.key?.range?.[0] ?? 0
    const key = this.#locate(offset)
    if (name === undefined) return void this.#refuseNode(pair.key, 'keys must be text', key, 'quote the key')
    const first = entries.get(name)
    if (first !== undefined)
      return void this.#refuseNode(pair.key, `duplicate key "${name}"`, key, `first defined ${describeLine(first.key)}`)
    entries.set(name, {
      key,
      tree: pair.value === null ? { kind: 'scalar', origin: key, value: null } : this.read(pair.value),
    })
  }

  #merged(node: Node | null): MapTree[] {
    const tree = this.read(node)
    const maps = tree.kind === 'list' ? tree.items : [tree]
    if (maps.every(map => map.kind === 'map')) return [...maps]
    this.#refuseNode(node, '"<<" requires a map or a list of maps', tree.origin, 'write "<<: *anchor"')
    return []
  }

  #alias(node: Alias, origin: ValueOrigin): Tree {
    const target = this.#anchors.get(node.source)
    if (target === undefined) return this.#refuseNode(node, `unknown anchor "&${node.source}"`, origin)
    if (target === 'open') return this.#refuseNode(node, `alias "*${node.source}" contains itself`, origin)
    return this.#countValues(target.size, node) ? target.tree : { kind: 'map', origin, entries: new Map() }
  }

  #countValues(values: number, node: Node): boolean {
    if (this.#values > MAX_VALUES) return false
    this.#values += values
    if (this.#values <= MAX_VALUES) return true
    this.#refuseNode(node, `more than ${MAX_VALUES} values, including aliases`, this.#locate(0))
    return false
  }

  #refuseNode(node: Node | null, message: string, origin: ValueOrigin, hint?: string): Tree {
    this.refused = true
    this.#refuse(node?.range?.[0] ?? 0, message, hint)
    return { kind: 'scalar', origin, value: null }
  }
}

function isMergeKey(pair: Pair): boolean {
  return (
    isScalar(pair.key) && (pair.key.source === '<<' || typeof pair.key.value === 'symbol') && pair.key.type === 'PLAIN'
  )
}

function getKeyText(key: Node | null): string | undefined {
  if (!isScalar(key)) return undefined
  if (typeof key.value === 'string') return key.value
  return key.value === null ? undefined : (key.source ?? String(key.value))
}

function describeLine(origin: ValueOrigin): string {
  return origin.from === 'file' ? `on line ${origin.line}` : 'above'
}
