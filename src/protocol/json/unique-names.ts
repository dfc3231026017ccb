import { randomInt } from 'node:crypto'
import { BACKSLASH, ScanError } from './scan.ts'

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

/** Names of one object that are compared one by one; where there are more they are looked up. */
const FEW = 12

/** Names that room is kept for between messages. */
const KEPT = 4096

/**
 * Most names of a message that are looked up, which are those of objects with more than `FEW`. Each takes some 300 ns, so a
 * message of 4 MB could have half a million of them and hold up everybody for a tenth of a second.
 */
export const MAX_NAMES = 50_000

/** Names that one with an escape counts for: it has to be read as a text. */
const ESCAPED_COUNTS = 8

/** Places that are looked at for one name before names are compared as texts: somebody may have chosen them for it. */
const MAX_PROBES = 128

/** Differs from run to run, so that nobody knows which names meet. */
const SEED = randomInt(2 ** 31)

/** Places of the names of all open objects, as pairs of start and end. One array: checking a message never yields. */
let places = new Int32Array(2 * KEPT)

let top = 0

/** Names of this message that were noted, and of those the ones that were looked up. */
let noted = 0
let lookedUp = 0

/** Returns the place in `places` of the first name of an object that begins now. */
export function beginNames(): number {
  return top
}

/** The object whose names begin at `base` has ended. */
export function endNames(base: number): void {
  top = base
}

/** Names that were noted of this message so far. */
export function namesNoted(): number {
  return noted
}

/** No object is open any more. */
export function forgetNames(): void {
  top = 0
  noted = lookedUp = 0
  if (places.length > 2 * KEPT) places = new Int32Array(2 * KEPT)
}

/**
 * Notes a name of the object whose names begin at `base`. Returns what many names are looked up in, and wants that
 * back with the next one.
 * @throws ScanError when the object has that name already, however it is written, or too many were looked up.
 */
export function noteName(
  bytes: Buffer,
  start: number,
  end: number,
  base: number,
  known: ManyNames | undefined,
): ManyNames | undefined {
  noted++
  if (known === undefined && top - base < 2 * FEW && !hasEscape(bytes, start, end)) {
    for (let at = base; at < top; at += 2)
      if (isSame(bytes, start, end, places[at] as number, places[at + 1] as number))
        throw repeated(bytes, start, end)
    keep(start, end)
    return undefined
  }
  const names = known ?? new ManyNames(bytes, base)
  lookedUp += names.asTexts ? ESCAPED_COUNTS : 1
  if (lookedUp > MAX_NAMES) throw tooManyNames()
  if (names.add(start, end)) return names
  throw repeated(bytes, start, end)
}

/** The names of one object, to look them up in: by where they stand, or as texts where that does not do. */
export class ManyNames {
  readonly #bytes: Buffer
  readonly #base: number
  /** Place of each name in `places`, plus one; 0 where a slot is empty. */
  #table = new Int32Array(8 * FEW)
  /** Hash of the name in each slot. */
  #hashes = new Int32Array(8 * FEW)
  #texts: Set<string> | undefined

  constructor(bytes: Buffer, base: number) {
    this.#bytes = bytes
    this.#base = base
    for (let at = base; at < top; at += 2) {
      const hash = hashOf(bytes, places[at] as number, places[at + 1] as number)
      this.#put(this.#slotOf(hash, places[at] as number, places[at + 1] as number), at + 1, hash)
    }
  }

  /** Tells whether names are compared as texts, as one of them has an escape. */
  get asTexts(): boolean {
    return this.#texts !== undefined
  }

  /** False when the name is there already. */
  add(start: number, end: number): boolean {
    if (this.#texts === undefined && !hasEscape(this.#bytes, start, end)) {
      const hash = hashOf(this.#bytes, start, end)
      const slot = this.#slotOf(hash, start, end)
      if (slot >= 0 && this.#table[slot] !== 0) return false
      this.#put(slot, top + 1, hash)
    } else this.#texts ??= allSince(this.#bytes, this.#base)
    const isNew = this.#addText(start, end)
    keep(start, end)
    if (top - this.#base > this.#table.length) this.#grow()
    return isNew
  }

  #addText(start: number, end: number): boolean {
    if (this.#texts === undefined) return true
    const { size } = this.#texts
    return this.#texts.add(plainName(this.#bytes, start, end)).size > size
  }

  #put(slot: number, place: number, hash: number): void {
    if (slot < 0) return
    this.#table[slot] = place
    this.#hashes[slot] = hash
  }

  /** Names in a table differ, so their hashes alone find them a free slot in a larger one. */
  #grow(): void {
    if (this.#texts !== undefined) return
    const [table, hashes] = [this.#table, this.#hashes]
    this.#table = new Int32Array(4 * table.length)
    this.#hashes = new Int32Array(4 * table.length)
    for (let at = 0; at < table.length; at++) {
      const [place, hash] = [table[at] as number, hashes[at] as number]
      if (place !== 0) this.#put(this.#slotOf(hash, 0, -1), place, hash)
    }
  }

  /** Finds the slot of a name, or a free one for it; -1 after MAX_PROBES tries: texts are compared from then on. */
  #slotOf(hash: number, start: number, end: number): number {
    const bytes = this.#bytes
    const table = this.#table
    let slot = (hash >>> 0) % table.length
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const place = table[slot] as number
      if (place === 0) return slot
      if (
        this.#hashes[slot] === hash &&
        isSame(bytes, start, end, places[place - 1] as number, places[place] as number)
      )
        return slot
      slot = slot + 1 === table.length ? 0 : slot + 1
    }
    this.#texts = allSince(bytes, this.#base)
    return -1
  }
}

function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = SEED
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
    hash ^= hash >>> 13
  }
  return hash
}

/** Tells whether a name is written with escapes. */
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
  for (let at = base; at < top; at += 2)
    names.add(plainName(bytes, places[at] as number, places[at + 1] as number))
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

function tooManyNames(): ScanError {
  return new ScanError(`more than ${MAX_NAMES} names in objects of more than ${FEW}`, false)
}

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
