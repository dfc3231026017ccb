import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { numbers } from '../../unit/plugins/redact/seeded.ts'

/** A result of a server, and what may be expected of its form. */
export interface Made {
  readonly kind: string
  readonly result: JsonObject
}

type Below = (below: number) => number

const LETTERS = ['a', 'Z', ' ', '\n', '"', '\\', 'é', '字', '🙂', '\u2028', '\u0000', '{', ']']

/** Every kind of result, the same for the same number. */
export function resultOf(n: number): Made {
  const below = numbers(n + 1)
  const kinds = Object.entries(KINDS)
  const [kind, make] = kinds[n % kinds.length] ?? ['text', textOnly]
  return { kind, result: make(below) }
}

const KINDS: Readonly<Record<string, (below: Below) => JsonObject>> = {
  text: textOnly,
  'json list': below => ({ content: [text(JSON.stringify(rows(below), undefined, below(3)))] }),
  'json object': below => ({ content: [text(JSON.stringify({ total: below(9), items: rows(below) }))] }),
  'structure and text': below => {
    const structuredContent = { items: rows(below), page: below(9) }
    return { content: [text(JSON.stringify(structuredContent))], structuredContent }
  },
  'structure alone': below => ({ content: [], structuredContent: { deep: { items: rows(below) } } }),
  'large members': below => ({
    content: [
      text(JSON.stringify({ a: words(below, 20_000), b: { c: words(below, 20_000) }, id: below(99) })),
    ],
  }),
  'many members': below => ({
    content: [text(JSON.stringify(Object.fromEntries(rows(below).map((row, index) => [`m${index}`, row]))))],
  }),
  'many blocks': below => ({ content: rows(below).map(row => text(JSON.stringify(row))) }),
  picture: below => ({
    content: [
      { type: 'image', data: 'QUJD'.repeat(below(9000)), mimeType: 'image/png' },
      text(words(below, 9000)),
    ],
  }),
  link: below => ({
    content: [{ type: 'resource_link', uri: 'file:///x', name: 'x' }, text(words(below, 9000))],
  }),
  resource: below => ({
    content: [{ type: 'resource', resource: { uri: 'file:///y', text: words(below, 30_000) } }],
  }),
  failure: below => ({ content: [text(words(below, 30_000))], isError: true }),
  nested: below => ({ content: [text('['.repeat(below(3000)) + ']'.repeat(below(3000)))] }),
  'deep structure': below => ({ content: [], structuredContent: nest(below(50), words(below, 9000)) }),
  small: below => ({ content: [text(String(below(1000)))], structuredContent: { n: below(10) } }),
  empty: () => ({ content: [] }),
}

function textOnly(below: Below): JsonObject {
  return { content: [text(words(below, 40_000))] }
}

function text(value: string): JsonObject {
  return { type: 'text', text: value }
}

function words(below: Below, most: number): string {
  const parts = Array.from({ length: below(40) + 1 }, () => LETTERS[below(LETTERS.length)] ?? '')
  const line = parts.join('')
  return line.repeat(Math.ceil(below(most) / line.length))
}

function rows(below: Below): JsonObject[] {
  return Array.from({ length: below(300) }, (_, id) => ({
    id,
    name: words(below, 60),
    ok: id % 2 === 0,
    none: null,
  }))
}

function nest(depth: number, inside: string): JsonObject {
  let value: JsonObject = { inside }
  for (let level = 0; level < depth; level++) value = { level, value }
  return value
}
