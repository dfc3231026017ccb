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
const FOLDED = new Map(NAMES.map(name => [fold(name), name]))
const MAX_NAME_LENGTH = Math.max(...NAMES.map(name => name.length))

/**
 * Finds the member that readers which ignore case, as Go's do, take this name for; undefined if it is written as it is,
 * or is no member that counts.
 */
export function lookAlike(name: string): string | undefined {
  return name.length > MAX_NAME_LENGTH || EXACT.has(name) ? undefined : FOLDED.get(fold(name))
}

/** Gives names that fold to the same one text: the long s is an s, the Kelvin sign a k. */
function fold(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

/** Bytes of a byte order mark in UTF-8, which some programs write in front of every text. */
export const BOM_LENGTH = 3

/** Tells whether a text begins with a byte order mark. */
export function hasBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The text behind a byte order mark; the same bytes if it has none. */
export function withoutBom(bytes: Buffer): Buffer {
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
