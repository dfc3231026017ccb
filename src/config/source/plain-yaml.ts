import { Document, isMap, isScalar, isSeq, parse, parseDocument } from 'yaml'
import { parsePointer } from '../../util/finding.ts'

/** Formats plain data as block-style YAML without line folding, with comments on scalars by JSON pointer. */
export function toYaml(value: unknown, comments: ReadonlyMap<string, string> = new Map()): string {
  const document = new Document(value)
  for (const [pointer, comment] of comments) {
    const node = document.getIn(parsePointer(pointer), true)
    if (isScalar(node)) node.comment = ` ${comment}`
  }
  return document.toString({ lineWidth: 0 })
}

/**
 * Parses third-party YAML.
 * @throws Error if it is invalid or has too many aliases
 */
export function fromYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 100, prettyErrors: true, logLevel: 'error' })
}

/** Map keys that lead to a value. */
type Path = readonly string[]

/**
 * Sets an entry in a map, or by `name` in a list of maps; preserves everything else.
 * @throws Error if the text is invalid or the value has another type
 */
export function setYamlEntry(text: string, path: Path, name: string, value: unknown, isList: boolean): string {
  const document = parseEditable(text)
  const node = document.getIn(path)
  // Convert `{}` to block style.
  if ((isMap(node) || isSeq(node)) && node.items.length === 0) node.flow = false
  // Null counts as absent.
  if (node === undefined || node === null)
    document.setIn(path, document.createNode(isList ? [value] : { [name]: value }))
  else if (!isList) document.setIn([...path, name], document.createNode(value))
  else if (isSeq(node)) node.items[findItemIndex(node.items, name, node.items.length)] = document.createNode(value)
  else throw new Error(`"${path.join('.')}" is not a list`)
  return document.toString({ lineWidth: 0 })
}

/** Removes an entry, and its map or list if that becomes empty. */
export function removeYamlEntry(text: string, path: Path, name: string, isList: boolean): string {
  const document = parseEditable(text)
  if (isList) {
    const list = findSequence(document, path)
    const index = list === undefined ? -1 : findItemIndex(list.items, name, -1)
    if (index >= 0) list?.items.splice(index, 1)
  } else document.deleteIn([...path, name])
  const remaining = document.getIn(path)
  if ((isMap(remaining) || isSeq(remaining)) && remaining.items.length === 0) document.deleteIn(path)
  return document.toString({ lineWidth: 0 })
}

function parseEditable(text: string): Document {
  const document = parseDocument(text, { keepSourceTokens: true })
  const [error] = document.errors
  if (error !== undefined) throw new Error(error.message.split('\n')[0])
  if (document.contents === null) document.contents = document.createNode({}) as never
  return document
}

function findSequence(document: Document, path: Path): { items: unknown[] } | undefined {
  const node = document.getIn(path)
  return isSeq(node) ? node : undefined
}

function findItemIndex(items: readonly unknown[], name: string, otherwise: number): number {
  const index = items.findIndex(item => isMap(item) && item.get('name') === name)
  return index === -1 ? otherwise : index
}
