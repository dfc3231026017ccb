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

const FOLDED = new Map(NAMES.map(name => [folded(name), name]))

/** Names of one object that are compared one by one; where there are more they are looked up. */
const FEW = 12

/** Names that room is kept for between messages. */
const KEPT = 4096

/** Places that are looked at for one name before names are compared as texts: somebody may have chosen them for it. */
const MAX_PROBES = 128

/** Differs from run to run, so that nobody knows which names meet. */
const SEED = randomInt(2 ** 31)

/** Places of the names of all open objects, as pairs of start and end. One array: checking a message never yields. */
let places = new Int32Array(2 * KEPT)

let top = 0

/** Returns the place in `places` of the first name of an object that begins now. */
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
  known: ManyNames | undefined,
): ManyNames | undefined {
  if (known === undefined && top - base < 2 * FEW && !hasEscape(bytes, start, end)) {
    for (let at = base; at < top; at += 2)
      if (isSame(bytes, start, end, places[at] as number, places[at + 1] as number))
        throw repeated(bytes, start, end)
    keep(start, end)
    return undefined
  }
  const names = known ?? new ManyNames(bytes, base)
  if (names.add(start, end)) return names
  throw repeated(bytes, start, end)
}

/** The names of one object, to look them up in: by where they stand, or as texts where that does not do. */
export class ManyNames {
  readonly #bytes: Buffer
  readonly #base: number
  /** Place of each name in `places`, plus one; 0 where a slot is empty. */
  #table = new Int32Array(8 * FEW)
  #texts: Set<string> | undefined

  constructor(bytes: Buffer, base: number) {
    this.#bytes = bytes
    this.#base = base
    this.#fill()
  }

  /** False when the name is there already. */
  add(start: number, end: number): boolean {
    if (this.#texts === undefined && !hasEscape(this.#bytes, start, end)) {
      const slot = this.#slotOf(start, end)
      if (slot >= 0 && this.#table[slot] !== 0) return false
      if (slot >= 0) this.#table[slot] = top + 1
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

  #grow(): void {
    if (this.#texts !== undefined) return
    this.#table = new Int32Array(2 * this.#table.length)
    this.#fill()
  }

  #fill(): void {
    for (let at = this.#base; at < top; at += 2) {
      const slot = this.#slotOf(places[at] as number, places[at + 1] as number)
      if (slot >= 0) this.#table[slot] = at + 1
    }
  }

  /** Finds the slot of a name, or a free one for it; -1 after MAX_PROBES tries: texts are compared from then on. */
  #slotOf(start: number, end: number): number {
    const bytes = this.#bytes
    const table = this.#table
    let slot = hashOf(bytes, start, end) % table.length
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const place = table[slot] as number
      if (place === 0) return slot
      if (isSame(bytes, start, end, places[place - 1] as number, places[place] as number)) return slot
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
  return hash >>> 0
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
