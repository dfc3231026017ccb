import { ScanError } from './scan.ts'

/** Names of one object that are compared one by one; where there are more they are looked up. */
const FEW = 12
/** Names that room is kept for between messages. */
const KEPT = 4096
const BACKSLASH = 0x5c

/** Where the names of all open objects stand, in pairs of start and end. One for all, as checking a message never yields. */
let places = new Int32Array(2 * KEPT)
let top = 0

/** Where the names of an object that begins now will stand. */
export function beginNames(): number {
  return top
}

/** The object whose names begin at `base` has ended. */
export function endNames(base: number): void {
  top = base
}

/** No object is open any more. */
export function forgetNames(): void {
  top = 0
  if (places.length > 2 * KEPT) places = new Int32Array(2 * KEPT)
}

/**
 * Notes a name of the object whose names begin at `base`. Returns what many names are looked up in, and wants that
 * back with the next one.
 * @throws ScanError when the object has that name already, however it is written.
 */
export function noteName(
  bytes: Buffer,
  start: number,
  end: number,
  base: number,
  known: Set<string> | undefined,
): Set<string> | undefined {
  if (known === undefined && top - base < 2 * FEW && !hasEscape(bytes, start, end)) {
    for (let at = base; at < top; at += 2)
      if (isSame(bytes, start, end, places[at] as number, places[at + 1] as number))
        throw repeated(bytes, start, end)
    keep(start, end)
    return undefined
  }
  const names = known ?? allSince(bytes, base)
  const { size } = names
  if (names.add(plainName(bytes, start, end)).size === size) throw repeated(bytes, start, end)
  return names
}

/** Whether a name is written with escapes. */
export function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

function isSame(bytes: Buffer, start: number, end: number, other: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - other) return false
  for (let at = start; at < end; at++, other++) if (bytes[at] !== bytes[other]) return false
  return true
}

function keep(start: number, end: number): void {
  if (top + 2 > places.length) {
    const grown = new Int32Array(2 * places.length)
    grown.set(places)
    places = grown
  }
  places[top++] = start
  places[top++] = end
}

function allSince(bytes: Buffer, base: number): Set<string> {
  const names = new Set<string>()
  for (let at = base; at < top; at += 2) names.add(bytes.toString('latin1', places[at], places[at + 1]))
  return names
}

/** A name as the Latin-1 text of its UTF-8 bytes, without escapes: the same name is always the same text. */
function plainName(bytes: Buffer, start: number, end: number): string {
  if (!hasEscape(bytes, start, end)) return bytes.toString('latin1', start, end)
  return Buffer.from(JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string).toString('latin1')
}

function repeated(bytes: Buffer, start: number, end: number): ScanError {
  const name = bytes.toString('utf8', start, Math.min(end, start + 64))
  return new ScanError(`"${name}" stands twice in one object`, false)
}
