import type { Document } from 'yaml'
import { isMap, isSeq, parse, parseDocument, stringify } from 'yaml'

/** Plain data as YAML for people: block style, lines not folded. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 })
}

/**
 * YAML that is not ours, as plain data.
 * @throws Error when it is no YAML, or has too many aliases.
 */
export function fromYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 100, prettyErrors: true, logLevel: 'error' })
}

/** A value's place in a document: keys of maps. */
type Path = readonly string[]

/**
 * The text with an entry of a map set, or with one of a list of maps that are told apart by `name`; all else stays.
 * @throws Error when the text is no YAML, or something else stands at the place
 */
export function setYamlEntry(
  text: string,
  path: Path,
  name: string,
  value: unknown,
  isList: boolean,
): string {
  const document = parseEditable(text)
  const found = document.getIn(path)
  // `{}` becomes a block.
  if ((isMap(found) || isSeq(found)) && found.items.length === 0) found.flow = false
  // Null means absent.
  if (found === undefined || found === null)
    document.setIn(path, document.createNode(isList ? [value] : { [name]: value }))
  else if (!isList) document.setIn([...path, name], document.createNode(value))
  else if (isSeq(found))
    found.items[findItemIndex(found.items, name, found.items.length)] = document.createNode(value)
  else throw new Error(`"${path.join('.')}" is no list`)
  return document.toString({ lineWidth: 0 })
}

/** The text without that entry, and without the map or list where nothing else is in it. */
export function removeYamlEntry(text: string, path: Path, name: string, isList: boolean): string {
  const document = parseEditable(text)
  if (isList) {
    const list = findSequence(document, path)
    const index = list === undefined ? -1 : findItemIndex(list.items, name, -1)
    if (index >= 0) list?.items.splice(index, 1)
  } else document.deleteIn([...path, name])
  const rest = document.getIn(path)
  if ((isMap(rest) || isSeq(rest)) && rest.items.length === 0) document.deleteIn(path)
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
  const found = document.getIn(path)
  return isSeq(found) ? found : undefined
}

function findItemIndex(items: readonly unknown[], name: string, otherwise: number): number {
  const index = items.findIndex(item => isMap(item) && item.get('name') === name)
  return index === -1 ? otherwise : index
}
