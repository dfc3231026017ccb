import { isMap, isNode, isPair, isScalar, isSeq, parseDocument, stringify, type Document } from 'yaml'

/** A value's place in a document: keys of maps. */
type Path = readonly string[]

/**
 * The text with an entry of a map set, or with one of a list of maps that are told apart by `name`; all else stays.
 * @throws Error when the text is no YAML, or something else stands at the place
 */
export function setInYaml(text: string, path: Path, name: string, value: unknown, isList: boolean): string {
  const document = read(text)
  const found = document.getIn(path)
  // Null means absent.
  if (found === undefined || found === null)
    document.setIn(path, document.createNode(isList ? [value] : { [name]: value }))
  else if (!isList) document.setIn([...path, name], document.createNode(value))
  else if (isSeq(found))
    found.items[indexOf(found.items, name, found.items.length)] = document.createNode(value)
  else throw new Error(`"${path.join('.')}" is no list`)
  return document.toString({ lineWidth: 0 })
}

/** The text without that entry, and without the map or list where nothing else is in it. */
export function removeFromYaml(text: string, path: Path, name: string, isList: boolean): string {
  const document = read(text)
  if (isList) {
    const list = listAt(document, path)
    const index = list === undefined ? -1 : indexOf(list.items, name, -1)
    if (index >= 0) list?.items.splice(index, 1)
  } else document.deleteIn([...path, name])
  const rest = document.getIn(path)
  if ((isMap(rest) || isSeq(rest)) && rest.items.length === 0) document.deleteIn(path)
  return document.toString({ lineWidth: 0 })
}

/**
 * The text with an entry more in a map, every other byte as it was; undefined where it cannot be put in so.
 */
export function insertedInYaml(text: string, path: Path, name: string, value: unknown): string | undefined {
  const map = read(text).getIn(path)
  const last = isMap(map) && map.flow !== true ? map.items.at(-1) : undefined
  const start = startOf(last)
  if (start === undefined || !isMap(map)) return undefined
  const lines = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  if (lines.trim() !== '') return undefined
  const end = endOf(text, last)
  const entry = stringify({ [name]: value }, { lineWidth: 0 }).replace(/^(?=.)/gm, lines)
  const gap = text.slice(0, end).endsWith('\n') ? '' : '\n'
  return text.slice(0, end) + gap + entry + text.slice(end)
}

/** The text without an entry of a map, every other byte as it was; undefined where it cannot be taken out so. */
export function cutFromYaml(text: string, path: Path, name: string): string | undefined {
  const map = read(text).getIn(path)
  if (!isMap(map) || map.flow === true || map.items.length < 2) return undefined
  const pair = map.items.find(({ key }) => String(key) === name)
  const start = startOf(pair)
  if (start === undefined) return undefined
  const line = text.lastIndexOf('\n', start - 1) + 1
  return text.slice(line, start).trim() === ''
    ? text.slice(0, line) + text.slice(endOf(text, pair))
    : undefined
}

function startOf(pair: unknown): number | undefined {
  const key = isPair(pair) ? pair.key : undefined
  return isScalar(key) ? key.range?.[0] : undefined
}

/** Offset behind the last line of an entry, comments behind it not counted. */
function endOf(text: string, pair: unknown): number {
  const node = isPair(pair) ? (isNode(pair.value) ? pair.value : pair.key) : undefined
  const end = (isNode(node) ? node.range?.[1] : undefined) ?? text.length
  // The range of a block ends where the next line begins; that of a text within its line.
  if (end > 0 && text[end - 1] === '\n') return end
  const next = text.indexOf('\n', end)
  return next < 0 ? text.length : next + 1
}

function read(text: string): Document {
  const document = parseDocument(text, { keepSourceTokens: true })
  const [error] = document.errors
  if (error !== undefined) throw new Error(error.message.split('\n')[0])
  if (document.contents === null) document.contents = document.createNode({}) as never
  return document
}

function listAt(document: Document, path: Path): { items: unknown[] } | undefined {
  const found = document.getIn(path)
  return isSeq(found) ? found : undefined
}

function indexOf(items: readonly unknown[], name: string, otherwise: number): number {
  const index = items.findIndex(item => isMap(item) && item.get('name') === name)
  return index === -1 ? otherwise : index
}
