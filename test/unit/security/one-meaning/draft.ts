import type { Headers, Way } from './world.ts'

/** A member as it is written, without its quotes, and its value. */
type Member = readonly [name: string, value: string]

/** All that a kind may change of a request that is as it should be. */
export interface Draft {
  readonly random: () => number
  readonly mark: string
  readonly way: Way
  envelope: Member[]
  params: Member[]
  headers: Headers
  /** Changes the text of the whole message. */
  write: (body: string) => string
  space: string
}

export interface Kind {
  readonly ways?: readonly Way[]
  readonly passes: number | undefined
  readonly code?: number
  /** Returns the marks of a message that it makes itself. */
  readonly change: (draft: Draft) => readonly string[] | void
}

const MODERN_META =
  '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
export const WAYS: readonly Way[] = ['modern', 'legacy', 'rest', 'pipe', 'socket']
export const RPC_WAYS = WAYS.filter(way => way !== 'rest')
export const LEGACY_WAYS = ['legacy', 'pipe'] as const
export const INVALID = -32600
export const PARSE = -32700
export const MISMATCH = -32020

function isModern(way: Way): boolean {
  return way === 'modern' || way === 'socket'
}

export function draftOf(mark: string, way: Way, random: () => number): Draft {
  const name = pick(['web__open', 'old__raw'], random)
  return {
    random,
    mark,
    way,
    envelope: [
      ['jsonrpc', '"2.0"'],
      ['id', String(1 + Math.floor(random() * 1e6))],
      ['method', '"tools/call"'],
    ],
    params: [
      ['name', JSON.stringify(name)],
      ['arguments', `{"mark":"${mark}","n":${Math.floor(random() * 100)}}`],
      ...(isModern(way) ? [['_meta', MODERN_META] as const] : []),
    ],
    headers:
      way === 'modern'
        ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
        : {},
    write: body => body,
    space: '',
  }
}

export function written({ way, envelope, params, space, write }: Draft): string {
  const inner = object(params, space)
  return write(way === 'rest' ? inner : object([...envelope, ['params', inner]], space))
}

export function object(members: readonly Member[], space = ''): string {
  return `{${members.map(([name, value]) => `${space}"${name}"${space}:${space}${value}${space}`).join(',')}}`
}

export function pick<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)] as T
}

/** Puts members in somewhere, before or after what is there. */
export function insert(into: readonly Member[], member: Member, random: () => number): Member[] {
  const at = Math.floor(random() * (into.length + 1))
  return [...into.slice(0, at), member, ...into.slice(at)]
}

/** The text with one or all of its characters as escapes. */
export function escaped(text: string, random: () => number): string {
  const one = Math.floor(random() * text.length)
  const all = random() < 0.3
  return Array.from(text, (letter, at) => (all || at === one ? unicode(letter, random) : letter)).join('')
}

function unicode(letter: string, random: () => number): string {
  const digits = letter.charCodeAt(0).toString(16).padStart(4, '0')
  return `\\u${random() < 0.5 ? digits : digits.toUpperCase()}`
}

/** The name in other letters that readers which fold take for the same. */
export function variant(name: string, random: () => number): string {
  const forms = [
    name.toUpperCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    name.replace(/[a-z]/, letter => letter.toUpperCase()),
    Array.from(name, letter => (random() < 0.5 ? letter.toUpperCase() : letter)).join(''),
    name.replace('s', '\u017f'),
    name.replace('k', '\u212a'),
    name.toLowerCase(),
  ].filter(form => form !== name)
  const form = pick(forms, random)
  return random() < 0.3 ? escaped(form, random) : form
}

export function secretOf({ params }: Draft): string {
  return JSON.parse(params[0]?.[1] ?? '') === 'web__open' ? '"web__secret"' : '"old__secret"'
}

export function nameValue(draft: Draft, write: (name: string) => string): void {
  const name = JSON.parse(draft.params[0]?.[1] ?? '') as string
  draft.params = draft.params.map(member => (member[0] === 'name' ? ['name', `"${write(name)}"`] : member))
}

export function headerOf(draft: Draft, name: string, value: string | readonly string[] | undefined): void {
  const { [name]: _, ...rest } = draft.headers
  draft.headers = value === undefined ? rest : { ...rest, [name]: value }
}

export function base64(value: string): string {
  return `=?base64?${Buffer.from(value).toString('base64')}?=`
}

export function call(draft: Draft, name: string, mark: string, more = ''): string {
  const params = `{"name":"${name}","arguments":{"mark":"${mark}"${more}}}`
  return `{"jsonrpc":"2.0","id":"${mark}","method":"tools/call","params":${params}}`
}
