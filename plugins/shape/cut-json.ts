import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'

/** Text that may hold a number which JavaScript would write as another one, such as 2^53+1 and 1e400. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/
/** Parts of the language that its types do not name yet. */
const { rawJSON, isRawJSON: isNumberText } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
/** Values that are handled before others may have the event loop. */
const VALUES_PER_STEP = 256

/** Reads JSON so that writing it gives every number as it was; undefined for text that is no JSON. */
export function readJson(text: string): unknown {
  try {
    return INEXACT.test(text) ? (JSON.parse(text, keepNumberText) as unknown) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function keepNumberText(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && source !== String(value)
    ? rawJSON(source)
    : value
}

/** Part of the room that the beginning of a text gets; its end gets the rest. */
const HEAD = 0.7

/** The beginning and the end of a text, in so many bytes. Offsets count characters, as JavaScript does. */
export function cutText(text: string, budget: number): { head: string; tail: string; leftOut: number } {
  const head = firstBytes(text, Math.floor(budget * HEAD))
  const tail = lastBytes(text.slice(head.length), Math.ceil(budget * (1 - HEAD)))
  return { head, tail, leftOut: text.length - head.length - tail.length }
}

/** The beginning of a text that is at most so many bytes, never half a character. */
export function firstBytes(text: string, budget: number): string {
  if (text.length * 3 <= budget) return text
  const near = text.slice(0, budget + 1)
  if (text.length <= budget && Buffer.byteLength(text) <= budget) return text
  let low = 0
  let high = Math.min(near.length, budget)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (Buffer.byteLength(near.slice(0, middle)) <= budget) low = middle
    else high = middle - 1
  }
  return text.slice(0, wholeAt(text, low))
}

function lastBytes(text: string, budget: number): string {
  let begin = Math.max(0, text.length - budget)
  while (Buffer.byteLength(text.slice(begin)) > budget)
    begin += Math.max(1, Math.ceil((text.length - begin) / 8))
  const code = text.charCodeAt(begin)
  return text.slice(code >= 0xdc00 && code <= 0xdfff ? begin + 1 : begin)
}

/** Nesting below which nothing is looked at: who goes deeper wants to fill a stack. */
const MAX_DEPTH = 256
/** Bytes below which a member is left out rather than shortened to them. */
const MIN_MEMBER_BYTES = 24
const ELLIPSIS = '…'

/** Count of what was left out. */
export interface LeftOut {
  items: number
  members: number
  characters: number
}

/** Bounds of a cut. */
interface CutOptions {
  /** False where a schema may want each member: then strings and lists alone give way. */
  readonly dropsMembers: boolean
}

/** A JSON value in so many bytes: lists lose items from their end, then long strings and members give way. Undefined where it is too deep. */
export function* cutJson(
  value: unknown,
  budget: number,
  { dropsMembers }: CutOptions,
): Generator<void, { readonly value: unknown; readonly leftOut: LeftOut } | undefined> {
  const sizes = new Map<object, number>()
  if ((yield* measure(value, sizes, 0)) === undefined) return undefined
  const leftOut = { items: 0, members: 0, characters: 0 }
  return { value: yield* new Cutter(sizes, leftOut, dropsMembers).fit(value, budget), leftOut }
}

/** Bytes of a value as compact JSON, noted for each object and list in it; undefined where it is too deep. */
function* measure(
  value: unknown,
  sizes: Map<object, number>,
  depth: number,
): Generator<void, number | undefined> {
  if (!isContainer(value)) return bytesOfPlain(value)
  if (depth > MAX_DEPTH) return undefined
  let size = 2
  let count = sizes.size
  for (const key of Object.keys(value)) {
    if (++count % VALUES_PER_STEP === 0) yield
    const inner = value[key]
    const bytes = isContainer(inner) ? yield* measure(inner, sizes, depth + 1) : bytesOfPlain(inner)
    if (bytes === undefined) return undefined
    size += bytes + 1 + (Array.isArray(value) ? 0 : keyBytes(key))
  }
  sizes.set(value, size)
  return size
}

function isContainer(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !isNumberText(value)
}

/** Text that JSON writes as it is, one byte for each character. */
const PLAIN = /^[ !#-[\]-~]*$/

function bytesOfPlain(value: unknown): number {
  if (typeof value === 'number') return String(value).length
  if (typeof value === 'string' && PLAIN.test(value)) return value.length + 2
  return Buffer.byteLength(JSON.stringify(value) ?? 'null')
}

function keyBytes(key: string): number {
  return bytesOfPlain(key) + 1
}

class Cutter {
  readonly #sizes: ReadonlyMap<object, number>
  readonly #leftOut: LeftOut
  readonly #dropsMembers: boolean

  constructor(sizes: ReadonlyMap<object, number>, leftOut: LeftOut, dropsMembers: boolean) {
    this.#sizes = sizes
    this.#leftOut = leftOut
    this.#dropsMembers = dropsMembers
  }

  *fit(value: unknown, budget: number): Generator<void, unknown> {
    if (this.#size(value) <= budget) return value
    if (Array.isArray(value)) return yield* this.#list(value, budget)
    if (isObject(value) && !isNumberText(value)) return yield* this.#object(value, budget)
    return typeof value === 'string' ? this.#text(value, budget) : value
  }

  #size(value: unknown): number {
    const known = typeof value === 'object' && value !== null ? this.#sizes.get(value) : undefined
    return known ?? bytesOfPlain(value)
  }

  /** The first items that fit; of a list whose first is too large alone, a part of that one. */
  *#list(items: readonly unknown[], budget: number): Generator<void, unknown[]> {
    let left = budget - 2
    let count = 0
    for (const item of items) {
      const size = this.#size(item) + 1
      if (size > left) break
      left -= size
      count++
    }
    const isTooLarge = count === 0 && items.length > 0 && left > MIN_MEMBER_BYTES
    const kept = isTooLarge ? [yield* this.fit(items[0], left - 1)] : items.slice(0, count)
    this.#leftOut.items += items.length - kept.length
    return kept
  }

  /** Small members stay whole, large ones share what is left alike. */
  *#object(value: JsonObject, budget: number): Generator<void, JsonObject> {
    const entries = Object.entries(value)
    const needs = new Float64Array(entries.length)
    for (const [index, [key, inner]] of entries.entries()) {
      if (index % VALUES_PER_STEP === 0) yield
      needs[index] = this.#size(inner) + keyBytes(key) + 1
    }
    const share = fairShare(needs, budget - 2)
    const isTooFull = entries.some(
      ([key], index) => (needs[index] ?? 0) > share && share - keyBytes(key) < MIN_MEMBER_BYTES,
    )
    if (isTooFull && this.#dropsMembers) return this.#firstMembers(entries, needs, budget - 2)
    const fitted: [string, unknown][] = []
    for (const [index, [key, inner]] of entries.entries()) {
      if (index % VALUES_PER_STEP === 0) yield
      const isSmall = (needs[index] ?? 0) <= share
      fitted.push([key, isSmall ? inner : yield* this.fit(inner, share - keyBytes(key) - 1)])
    }
    return Object.fromEntries(fitted)
  }

  /** Keeps the first members that fit whole, if there are too many for that. */
  #firstMembers(entries: readonly [string, unknown][], needs: Float64Array, budget: number): JsonObject {
    let left = budget
    const kept = entries.filter((_entry, index) => {
      const need = needs[index] ?? 0
      if (need > left) return false
      left -= need
      return true
    })
    this.#leftOut.members += entries.length - kept.length
    return Object.fromEntries(kept)
  }

  #text(text: string, budget: number): string {
    const kept = headOf(text, Math.max(0, budget - 2 - ELLIPSIS.length * 3))
    this.#leftOut.characters += text.length - kept.length
    return kept + ELLIPSIS
  }
}

/** The largest share that each may have, where those who need less leave the rest to the others. */
function fairShare(needs: Float64Array, total: number): number {
  let left = total
  const rising = needs.toSorted()
  for (const [index, need] of rising.entries()) {
    const share = Math.floor(left / (rising.length - index))
    if (need > share) return share
    left -= need
  }
  return Infinity
}

/** The beginning of a text that is so many bytes inside JSON, never half a character. */
function headOf(text: string, budget: number): string {
  let low = 0
  let high = Math.min(text.length, budget)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (bytesOfPlain(text.slice(0, middle)) - 2 <= budget) low = middle
    else high = middle - 1
  }
  return text.slice(0, wholeAt(text, low))
}

/** An index that is not between the two halves of a character. */
export function wholeAt(text: string, index: number): number {
  const code = text.charCodeAt(index - 1)
  return code >= 0xd800 && code <= 0xdbff && index < text.length ? index - 1 : index
}
