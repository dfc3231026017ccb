/** A JSON value with all that was written: repeated names, and numbers as text. */
export type Node =
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: Node])[] }
  | { readonly kind: 'array'; readonly items: readonly Node[] }
  | { readonly kind: 'string' | 'number' | 'word'; readonly text: string }

const SPACE = /[ \t\r\n]*/y
const STRING = /"(?:[^"\\]|\\.)*"/y
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y

/** Reads a JSON text without any help of the gateway or of `JSON.parse` but for single strings. */
export function read(text: string): Node {
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const isNext = (sign: string): boolean => {
    take(SPACE)
    if (text[at] !== sign) return false
    at++
    return true
  }
  const name = (): string => {
    take(SPACE)
    return JSON.parse(take(STRING) ?? fail(text, at)) as string
  }
  const listed = <T>(close: string, one: () => T): T[] => {
    const all: T[] = []
    if (isNext(close)) return all
    do all.push(one())
    while (isNext(','))
    return isNext(close) ? all : fail(text, at)
  }
  const member = (): readonly [string, Node] => [name(), isNext(':') ? value() : fail(text, at)]
  const value = (): Node => {
    if (isNext('{')) return { kind: 'object', members: listed('}', member) }
    if (isNext('[')) return { kind: 'array', items: listed(']', value) }
    if (text[at] === '"') return { kind: 'string', text: name() }
    const number = take(NUMBER)
    if (number !== undefined) return { kind: 'number', text: number }
    return { kind: 'word', text: take(WORD) ?? fail(text, at) }
  }
  const whole = value()
  take(SPACE)
  return at === text.length ? whole : fail(text, at)
}

function fail(text: string, at: number): never {
  throw new Error(`no JSON at ${at}: ${text}`)
}

/** The way a reader finds a member: which of several counts, and whether letters of another case are the same. */
export interface Reader {
  readonly takes: 'first' | 'last'
  readonly folds: boolean
}

/** As readers of other languages are known to do it. */
export const READERS: readonly Reader[] = [
  { takes: 'first', folds: false },
  { takes: 'last', folds: false },
  { takes: 'first', folds: true },
  { takes: 'last', folds: true },
]

/** The member that a reader takes for `name`. */
export function memberOf(node: Node | undefined, name: string, { takes, folds }: Reader): Node | undefined {
  if (node?.kind !== 'object') return undefined
  const form = folds ? folded : (text: string) => text
  const fitting = node.members.filter(([other]) => form(other) === form(name))
  return fitting.at(takes === 'first' ? 0 : -1)?.[1]
}

/** One text for names that are the same to readers which fold as Unicode does: the long s is an s, the Kelvin sign a k. */
function folded(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

/** A value as plain data, with each number as `number` gives it. */
export function plain(node: Node | undefined, reader: Reader, number: (text: string) => string): unknown {
  if (node === undefined) return undefined
  if (node.kind === 'array') return node.items.map(item => plain(item, reader, number))
  if (node.kind === 'object') {
    const names = [...new Set(node.members.map(([name]) => name))].sort()
    return names.map(name => [name, plain(memberOf(node, name, { ...reader, folds: false }), reader, number)])
  }
  return node.kind === 'number' ? number(node.text) : `${node.kind} ${node.text}`
}
