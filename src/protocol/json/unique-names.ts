import { randomInt } from 'node:crypto'
import { hasEscape, PlainText } from './plain-text.ts'
import { ScanError } from './scan.ts'

/** Names of one object that are compared one by one; where there are more they are looked up. */
const FEW = 12

/** Names that room is kept for between messages. */
const KEPT = 4096

/**
 * Most names of a message that are looked up, which are those of objects with more than `FEW`. Each takes some 200 ns, so a
 * message of 4 MB could have half a million of them and hold up everybody for a tenth of a second.
 */
export const MAX_NAMES = 50_000

/** Names that one counts for which is compared as a text. */
const TEXT_COUNTS = 8

/** Places that are looked at for one name before names are compared as texts: somebody may have chosen them for it. */
const MAX_PROBES = 128

/** Slots of a new table; like every table's, a power of two. */
const SLOTS = 128

/** Names above this are compared by a call, which costs as much as so many bytes. */
const LONG = 64

/** Differs from run to run, so that nobody knows which names meet. */
const SEED = randomInt(2 ** 31)

const EMPTY = Buffer.alloc(0)

/**
 * Places of the names of all open objects, as pairs of start and end: in the message or, with all bits turned over, in
 * `plain`. One array: checking a message never yields.
 */
let places = new Int32Array(2 * KEPT)

let top = 0

/** Names of this message that were noted or counted, and of those the ones that were looked up. */
let noted = 0
let lookedUp = 0

/** Names of this message that are written with escapes, without them. */
const plain = new PlainText(KEPT)

/** Tables that no object needs at the moment. */
const spare: ManyNames[] = []

/** Returns the place in `places` of the first name of an object that begins now. */
export function beginNames(): number {
  return top
}

/** The object whose names begin at `base` has ended, with what its names were looked up in. */
export function endNames(base: number, known: ManyNames | undefined): void {
  top = base
  if (known?.leave() === true) spare.push(known)
}

/** Names that were noted or counted of this message so far. */
export function namesNoted(): number {
  return noted
}

/** No object is open any more. */
export function forgetNames(): void {
  top = 0
  noted = lookedUp = 0
  plain.clear()
  if (places.length > 2 * KEPT) places = new Int32Array(2 * KEPT)
}

/** Counts the first name of an object, which meets none; it is noted where another one follows. */
export function countName(): void {
  noted++
}

/** Notes the first name of an object, which was counted. */
export function noteFirst(bytes: Buffer, start: number, end: number): void {
  if (hasEscape(bytes, start, end)) keepPlain(bytes, start, end)
  else keep(start, end)
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
  countName()
  const place = top
  noteFirst(bytes, start, end)
  if (known === undefined && place - base < 2 * FEW) {
    if (isAmong(bytes, base, place)) throw repeated(bytes, start, end)
    return undefined
  }
  const names = known ?? manyNames(bytes, base)
  lookedUp += names.asTexts ? TEXT_COUNTS : 1
  if (lookedUp > MAX_NAMES) throw tooManyNames()
  if (names.add(place)) return names
  throw repeated(bytes, start, end)
}

/** The names of an object so far but the last one, to look the next ones up in. */
function manyNames(bytes: Buffer, base: number): ManyNames {
  const names = spare.pop() ?? new ManyNames()
  names.begin(bytes, base)
  return names
}

/** The names of one object, to look them up in: by where they stand, or as texts where that does not do. */
export class ManyNames {
  #bytes: Buffer = EMPTY
  #base = 0
  /** Place of each name in `places`, plus one; 0 where a slot is empty. */
  #table = new Int32Array(SLOTS)
  /** Hash of the name in each slot. */
  #hashes = new Int32Array(SLOTS)
  #texts: Set<string> | undefined

  /** Takes the names from `base` on, but for the last one. */
  begin(bytes: Buffer, base: number): void {
    this.#bytes = bytes
    this.#base = base
    for (let at = base; at < top - 2; at += 2) this.add(at)
  }

  /** The object has ended. True where this may serve another one, for which it is empty again. */
  leave(): boolean {
    this.#bytes = EMPTY
    this.#table.fill(0)
    return this.#texts === undefined && this.#table.length === SLOTS
  }

  /** Tells whether names are compared as texts, as too many of them have hashes that are alike. */
  get asTexts(): boolean {
    return this.#texts !== undefined
  }

  /** Adds the name at a place in `places`; false when it is there already. */
  add(place: number): boolean {
    if (this.#texts !== undefined) return this.#addText(place)
    const hash = hashOf(this.#bytes, place)
    const slot = this.#slotOf(hash, place)
    if (slot < 0) return this.#addText(place)
    if (this.#table[slot] !== 0) return false
    this.#put(slot, place + 1, hash)
    if (place - this.#base > this.#table.length) this.#grow()
    return true
  }

  #addText(place: number): boolean {
    this.#texts ??= textsOf(this.#bytes, this.#base, place)
    const { size } = this.#texts
    return this.#texts.add(textOf(this.#bytes, place)).size > size
  }

  #put(slot: number, place: number, hash: number): void {
    this.#table[slot] = place
    this.#hashes[slot] = hash
  }

  /** Names in a table differ, so their hashes alone find them a free slot in a larger one. */
  #grow(): void {
    const [table, hashes] = [this.#table, this.#hashes]
    this.#table = new Int32Array(4 * table.length)
    this.#hashes = new Int32Array(4 * table.length)
    for (let at = 0; at < table.length; at++) {
      const [place, hash] = [table[at] as number, hashes[at] as number]
      if (place !== 0) this.#put(this.#freeSlot(hash), place, hash)
    }
  }

  #freeSlot(hash: number): number {
    const last = this.#table.length - 1
    let slot = hash & last
    while (this.#table[slot] !== 0) slot = (slot + 1) & last
    return slot
  }

  /** Finds the slot of a name, or a free one for it; -1 after MAX_PROBES tries: texts are compared from then on. */
  #slotOf(hash: number, name: number): number {
    const last = this.#table.length - 1
    let slot = hash & last
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const place = this.#table[slot] as number
      if (place === 0) return slot
      if (this.#hashes[slot] === hash && isSame(this.#bytes, name, place - 1)) return slot
      slot = (slot + 1) & last
    }
    return -1
  }
}

/** Hash of the name at a place in `places`, by what it stands for. */
function hashOf(bytes: Buffer, place: number): number {
  const from = textAt(bytes, place)
  const end = endAt(place)
  let hash = SEED
  for (let at = startAt(place); at < end; at++) {
    hash = Math.imul(hash ^ (from[at] as number), 0x01000193)
    hash ^= hash >>> 13
  }
  return hash
}

/** Tells whether the name at a place is one of those from `base` on. */
function isAmong(bytes: Buffer, base: number, place: number): boolean {
  const start = places[place] as number
  // The length of one in `plain` is below zero here, so only two of one kind are compared as they stand.
  const length = (places[place + 1] as number) - start
  for (let at = base; at < place; at += 2) {
    const other = places[at] as number
    const otherLength = (places[at + 1] as number) - other
    if (length === otherLength && length > 0 && start >= 0) {
      if (bytes[start] === bytes[other] && isSameText(bytes, start, start + length, bytes, other)) return true
    } else if (Math.abs(length) === Math.abs(otherLength) && isSame(bytes, place, at)) return true
  }
  return false
}

/** Tells whether the names at two places are the same, however they are written. */
function isSame(bytes: Buffer, one: number, other: number): boolean {
  const start = startAt(one)
  const end = endAt(one)
  const from = startAt(other)
  if (end - start !== endAt(other) - from) return false
  return isSameText(textAt(bytes, one), start, end, textAt(bytes, other), from)
}

function isSameText(text: Buffer, start: number, end: number, other: Buffer, from: number): boolean {
  if (end - start > LONG) return text.compare(other, from, from + end - start, start, end) === 0
  for (let at = start; at < end; at++) if (text[at] !== other[from + at - start]) return false
  return true
}

/** Text in which the name at a place in `places` stands. */
function textAt(bytes: Buffer, place: number): Buffer {
  return (places[place] as number) < 0 ? plain.bytes : bytes
}

function startAt(place: number): number {
  const start = places[place] as number
  return start < 0 ? ~start : start
}

function endAt(place: number): number {
  const end = places[place + 1] as number
  return end < 0 ? ~end : end
}

/** Keeps where a name stands. */
function keep(start: number, end: number): void {
  if (top + 2 > places.length) {
    const grown = new Int32Array(2 * places.length)
    grown.set(places)
    places = grown
  }
  places[top++] = start
  places[top++] = end
}

/** Keeps a name without its escapes. */
function keepPlain(bytes: Buffer, start: number, end: number): void {
  const from = plain.length
  plain.add(bytes, start, end)
  keep(~from, ~plain.length)
}

function textsOf(bytes: Buffer, base: number, end: number): Set<string> {
  const names = new Set<string>()
  for (let at = base; at < end; at += 2) names.add(textOf(bytes, at))
  return names
}

/** A name as the Latin-1 text of its UTF-8 bytes. */
function textOf(bytes: Buffer, place: number): string {
  return textAt(bytes, place).toString('latin1', startAt(place), endAt(place))
}

function repeated(bytes: Buffer, start: number, end: number): ScanError {
  const name = bytes.toString('utf8', start, Math.min(end, start + 64))
  return new ScanError(`"${name}" stands twice in one object`, false)
}

function tooManyNames(): ScanError {
  return new ScanError(`more than ${MAX_NAMES} names in objects of more than ${FEW}`, false)
}
