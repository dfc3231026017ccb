/** Numbers inside one object or list that JavaScript writes otherwise: `1.0`, `1e3`, 2^53+1. */
interface NumberNotes {
  /** Texts of the object's own numbers, by member name or index. */
  readonly texts: Map<string, string>
  /** True if every reader takes all numbers in it for the same values; 2^53+1 and `1e400` JavaScript does not. */
  isExact: boolean
}

const NOTES = new WeakMap<object, NumberNotes>()

/**
 * Finds text in which a number may be one that JavaScript writes otherwise: of 16 digits or more, with an exponent, with a zero
 * at its end, or -0. Each alternative is bounded, so that the search is linear; all begin with one class of characters, which
 * makes it 15 times faster in long strings.
 */
const MAY_CHANGE = /[-.\d](?:[\d.]{15}|[eE][+-]?\d{1,6}[\s,\]}]|(?<=\.)\d{0,15}0[\s,\]}]|(?<=-)0[\s,\]}])/

/** Longest number, without an exponent, that every reader takes for the same value. */
const EXACT_LENGTH = 15

/** Third argument of a reviver, which TypeScript's library does not declare yet. */
interface ReviverContext {
  readonly source?: string
}

/** `JSON.rawJSON`, which TypeScript's library does not declare yet: a value that `JSON.stringify` writes as this text. */
export const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Tells whether JSON may hold a number that JavaScript writes otherwise, without parsing it. */
export function mayRewriteNumbers(text: string): boolean {
  return MAY_CHANGE.test(text)
}

/** Parses JSON and remembers how its numbers are written where JavaScript would write them otherwise. */
export function parseJson(text: string): unknown {
  return MAY_CHANGE.test(text) ? (JSON.parse(text, noteNumber) as unknown) : (JSON.parse(text) as unknown)
}

function noteNumber(this: object, key: string, value: unknown, context?: ReviverContext): unknown {
  if (typeof value === 'number') noteText(this, key, value, context?.source ?? '')
  else if (typeof value === 'object' && value !== null) {
    const inner = NOTES.get(value)
    if (inner !== undefined) getNumberNotes(this).isExact &&= inner.isExact
  }
  return value
}

function noteText(holder: object, key: string, value: number, text: string): void {
  if (text === String(value)) return
  const notes = getNumberNotes(holder)
  notes.texts.set(key, text)
  notes.isExact &&= text.length <= EXACT_LENGTH && !/e/i.test(text)
}

function getNumberNotes(holder: object): NumberNotes {
  let notes = NOTES.get(holder)
  if (notes === undefined) NOTES.set(holder, (notes = { texts: new Map(), isExact: true }))
  return notes
}

/** Tells whether every reader takes the numbers in parsed parameters for the same values. */
export function hasExactNumbers(value: object | undefined): boolean {
  return value === undefined || (NOTES.get(value)?.isExact ?? true)
}

/** Returns the text of a member that is a number which JavaScript would write otherwise. */
export function getNumberText(holder: object, key: string): string | undefined {
  return NOTES.get(holder)?.texts.get(key)
}

/** Marks an object made from another one, so that numbers of it are still written as they came. */
export function copyNumberNotes(to: object, from: object | undefined): void {
  const notes = from === undefined ? undefined : NOTES.get(from)
  if (notes !== undefined) NOTES.set(to, { texts: new Map(), isExact: notes.isExact })
}

/** Writes a value made from `origin`; numbers that are still the same at the same place, or in the same object, keep their text. */
export function stringifyJson(value: JsonObject, origin: JsonObject | undefined): string {
  if (origin === undefined || !NOTES.has(origin)) return JSON.stringify(value)
  const origins = new Map<object, object>()
  return JSON.stringify(value, function (this: object, key: string, now: unknown): unknown {
    const holder = origins.get(this)
    if (typeof now === 'number') return holder === undefined ? now : restoreNumberText(now, holder, key)
    if (typeof now !== 'object' || now === null) return now
    const before: unknown = origins.size === 0 ? origin : holder && Reflect.get(holder, key)
    if (NOTES.has(now)) origins.set(now, now)
    else if (typeof before === 'object' && before !== null) origins.set(now, before)
    return now
  })
}

function restoreNumberText(now: number, holder: object, key: string): unknown {
  const text = Object.is(now, Reflect.get(holder, key)) ? NOTES.get(holder)?.texts.get(key) : undefined
  return text === undefined ? now : rawJSON(text)
}

/** A value in which each number is the text that it is written as, to repeat it in a header. */
export function stringifyNumbers(
  value: JsonObject | undefined,
  origin: JsonObject | undefined,
): JsonObject | undefined {
  if (value === undefined || origin === undefined || !NOTES.has(origin)) return value
  return JSON.parse(stringifyJson(value, origin), reviveNumberAsText) as JsonObject
}

function reviveNumberAsText(_key: string, value: unknown, context?: ReviverContext): unknown {
  return typeof value === 'number' ? context?.source : value
}

/** Members of `params` by which a request is judged, routed or taken up again, and those of a reference. */
const NAMES = [
  'name',
  'arguments',
  '_meta',
  'uri',
  'ref',
  'type',
  'argument',
  'cursor',
  'task',
  'taskId',
  'requestState',
  'inputResponses',
]
const EXACT = new Set(NAMES)
const FOLDED = new Map(NAMES.map(name => [foldName(name), name]))
const MAX_NAME_LENGTH = Math.max(...NAMES.map(name => name.length))

/**
 * Finds the member that readers which ignore case, as Go's do, take this name for; undefined if it is written as it is,
 * or is no member that counts.
 */
export function findMistakableName(name: string): string | undefined {
  return name.length > MAX_NAME_LENGTH || EXACT.has(name) ? undefined : FOLDED.get(foldName(name))
}

/** Gives names that fold to the same one text: the long s is an s, the Kelvin sign a k. */
function foldName(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

/** Bytes of a byte order mark in UTF-8, which some programs write in front of every text. */
export const BOM_LENGTH = 3

/** Tells whether a text begins with a byte order mark. */
export function hasBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The text behind a byte order mark; the same bytes if it has none. */
export function stripBom(bytes: Buffer): Buffer {
  return hasBom(bytes) ? bytes.subarray(BOM_LENGTH) : bytes
}

/** An object as JSON has them. */
export type JsonObject = { [key: string]: unknown }

/** Tells an object from all else, lists and null included. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none where it is no list. */
export function filterObjects(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

/** Canonical text of plain JSON data (JCS, RFC 8785): names in the order of their UTF-16 units, no spaces. */
export function canonicalizeJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalizeJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalizeJson(member)}`).join(',')}}`
}
