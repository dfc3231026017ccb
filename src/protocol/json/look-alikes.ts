import { BACKSLASH } from './scan.ts'

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

/** Bit by which a small letter differs from a capital one. */
const CASE = 0x20

/** Last byte of ASCII. */
const ASCII = 0x7f

const FOLDED = new Map(NAMES.map(name => [folded(name), name]))

/** By the length of a name and its first byte, in either case: 1 where a name in `NAMES` may be meant. */
const BEGINNINGS = NAMES.map(name => [name.length, name.charCodeAt(0)] as const)
const LONGEST_NAME = Math.max(...NAMES.map(name => name.length))
const MAY_BE = new Uint8Array((LONGEST_NAME + 1) * 256)
for (const [length, first] of BEGINNINGS)
  for (const byte of [first, first & ~CASE]) MAY_BE[length * 256 + byte] = 1

/** Tells whether a name that is written without escapes, and in ASCII, is none that `lookAlike` knows: most are none. */
export function isNoLookAlike(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length <= LONGEST_NAME && MAY_BE[length * 256 + (bytes[start] as number)] === 1) return false
  for (let at = start; at < end; at++)
    if (bytes[at] === BACKSLASH || (bytes[at] as number) > ASCII) return false
  return true
}

/**
 * Finds the member that readers which fold case, as Go's do, take this name for; undefined where it is written as it is,
 * or is no member that counts.
 */
export function lookAlike(name: string): string | undefined {
  return EXACT.has(name) ? undefined : FOLDED.get(folded(name))
}

/** Gives names that fold to the same one text: the long s is an s, the Kelvin sign a k. */
function folded(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}
