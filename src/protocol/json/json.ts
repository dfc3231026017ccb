/** Numbers in one object or list that JavaScript would serialize differently: `1.0`, `1e3`, 2^53+1. */
interface NumberNotes {
  /** Original text of numbers, by member name or index. */
  readonly texts: Map<string, string>
  /** True if every parser gets the same values; false for 2^53+1 or `1e400`. */
  isExact: boolean
}

const NOTES = new WeakMap<object, NumberNotes>()

/**
 * Matches numbers that JavaScript may serialize differently: 16 or more digits, an exponent, a trailing zero, or -0.
 * Bounded alternatives keep the search linear; a common first character class makes it 15 times faster in long
 * strings.
 */
const MAY_CHANGE = /[-.\d](?:[\d.]{15}|[eE][+-]?\d{1,6}[\s,\]}]|(?<=\.)\d{0,15}0[\s,\]}]|(?<=-)0[\s,\]}])/

/** Maximum length of a number, without an exponent, that every parser represents exactly. */
const EXACT_LENGTH = 15

/** Third argument of a reviver, missing in TypeScript's library. */
interface ReviverContext {
  readonly source?: string
}

/** `JSON.rawJSON`, missing in TypeScript's library: a value that `JSON.stringify` writes as this text. */
export const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Returns true if JSON may contain numbers that JavaScript serializes differently, without parsing it. */
export function mayRewriteNumbers(text: string): boolean {
  return MAY_CHANGE.test(text)
}

/** Parses JSON and records the original text of numbers that JavaScript would serialize differently. */
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

/** Returns true if all numbers in parsed parameters are exact in every parser. */
export function hasExactNumbers(value: object | undefined): boolean {
  return value === undefined || (NOTES.get(value)?.isExact ?? true)
}

/** Returns the original text of a number that JavaScript would serialize differently. */
export function getNumberText(holder: object, key: string): string | undefined {
  return NOTES.get(holder)?.texts.get(key)
}

/** Copies the recorded number texts to a derived object. */
export function copyNumberNotes(to: object, from: object | undefined): void {
  const notes = from === undefined ? undefined : NOTES.get(from)
  if (notes !== undefined) NOTES.set(to, { texts: new Map(), isExact: notes.isExact })
}

/** Serializes a value derived from `origin`; unchanged numbers in the same position or object keep their text. */
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

/** Replaces each number by its text, to repeat it in a header. */
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

/** Members of `params` used for policies, routing or resuming, and those of a reference. */
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
 * Finds the relevant member that case-insensitive parsers, such as Go's, would read for this name; undefined if it is
 * an exact match or irrelevant.
 */
export function findMistakableName(name: string): string | undefined {
  return name.length > MAX_NAME_LENGTH || EXACT.has(name) ? undefined : FOLDED.get(foldName(name))
}

/** Folds case like Go: the long s is an s, the Kelvin sign a k. */
function foldName(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

/** JSON object. */
export type JsonObject = { [key: string]: unknown }

/** Returns true for objects, not for lists or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns true if an object or list nests more than so many levels. */
export function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null && isDeeperThan(inner, levels - 1)) return true
  return false
}

/** Returns the objects in a list; empty for other values. */
export function filterObjects(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

/** Serializes plain JSON data in canonical form (JCS, RFC 8785): names sorted by UTF-16 units, no spaces. */
export function canonicalizeJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalizeJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalizeJson(member)}`).join(',')}}`
}
