import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'

/** Text with a number that JavaScript may not represent exactly, such as 2^53+1 or 1e400. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/
/** Missing in the TypeScript library types. */
const { rawJSON, isRawJSON: isNumberText } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
/** Values processed before yielding to the event loop. */
const VALUES_PER_STEP = 256

/** Parses JSON and preserves the text of inexact numbers; undefined for invalid JSON. */
export function readJson(text: string): unknown {
  try {
    return INEXACT.test(text) ? (JSON.parse(text, keepNumberText) as unknown) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function keepNumberText(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value
}

/** Share for the start of a text; the end gets the remainder. */
const HEAD_SHARE = 0.7

/** Cuts a text to its start and end within a byte budget. Offsets count UTF-16 units. */
export function splitHeadAndTail(text: string, budget: number): { head: string; tail: string; leftOut: number } {
  const head = sliceStart(text, Math.floor(budget * HEAD_SHARE))
  const tail = sliceEnd(text.slice(head.length), Math.ceil(budget * (1 - HEAD_SHARE)))
  return { head, tail, leftOut: text.length - head.length - tail.length }
}

/** Longest prefix within a byte budget; never splits a character. */
export function sliceStart(text: string, budget: number): string {
  if (text.length * 3 <= budget) return text
  const prefix = text.slice(0, budget + 1)
  if (text.length <= budget && Buffer.byteLength(text) <= budget) return text
  let low = 0
  let high = Math.min(prefix.length, budget)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (Buffer.byteLength(prefix.slice(0, middle)) <= budget) low = middle
    else high = middle - 1
  }
  return text.slice(0, toCharBoundary(text, low))
}

function sliceEnd(text: string, budget: number): string {
  let begin = Math.max(0, text.length - budget)
  while (Buffer.byteLength(text.slice(begin)) > budget) begin += Math.max(1, Math.ceil((text.length - begin) / 8))
  const code = text.charCodeAt(begin)
  return text.slice(code >= 0xdc00 && code <= 0xdfff ? begin + 1 : begin)
}

/** Deeper values are not processed, to protect the stack. */
const MAX_DEPTH = 256
/** Members with a smaller budget are omitted. */
const MIN_MEMBER_BYTES = 24
const ELLIPSIS = '…'

export interface LeftOut {
  items: number
  members: number
  characters: number
}

interface CutOptions {
  /** False if a schema may require members: cut only strings and lists. */
  readonly dropsMembers: boolean
}

/**
 * Cuts a JSON value to a byte budget: removes list items from the end, then shortens strings and members. Undefined
 * if nested too deeply.
 */
export function* cutJson(
  value: unknown,
  budget: number,
  { dropsMembers }: CutOptions,
): Generator<void, { readonly value: unknown; readonly leftOut: LeftOut } | undefined> {
  const sizes = new Map<object, number>()
  if ((yield* measureSizes(value, sizes, 0)) === undefined) return undefined
  const leftOut = { items: 0, members: 0, characters: 0 }
  return { value: yield* new Cutter(sizes, leftOut, dropsMembers).cutToFit(value, budget), leftOut }
}

/** Measures compact JSON and stores the size of each object and list; undefined if nested too deeply. */
function* measureSizes(value: unknown, sizes: Map<object, number>, depth: number): Generator<void, number | undefined> {
  if (!isContainer(value)) return countPlainBytes(value)
  if (depth > MAX_DEPTH) return undefined
  let size = 2
  let count = sizes.size
  for (const key of Object.keys(value)) {
    if (++count % VALUES_PER_STEP === 0) yield
    const inner = value[key]
    const bytes = isContainer(inner) ? yield* measureSizes(inner, sizes, depth + 1) : countPlainBytes(inner)
    if (bytes === undefined) return undefined
    size += bytes + 1 + (Array.isArray(value) ? 0 : countKeyBytes(key))
  }
  sizes.set(value, size)
  return size
}

function isContainer(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !isNumberText(value)
}

/** Text without JSON escapes, one byte per character. */
const PLAIN = /^[ !#-[\]-~]*$/

function countPlainBytes(value: unknown): number {
  if (typeof value === 'number') return String(value).length
  if (typeof value === 'string' && PLAIN.test(value)) return value.length + 2
  return Buffer.byteLength(JSON.stringify(value) ?? 'null')
}

function countKeyBytes(key: string): number {
  return countPlainBytes(key) + 1
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

  *cutToFit(value: unknown, budget: number): Generator<void, unknown> {
    if (this.#size(value) <= budget) return value
    if (Array.isArray(value)) return yield* this.#cutList(value, budget)
    if (isObject(value) && !isNumberText(value)) return yield* this.#cutObject(value, budget)
    return typeof value === 'string' ? this.#cutString(value, budget) : value
  }

  #size(value: unknown): number {
    const knownSize = typeof value === 'object' && value !== null ? this.#sizes.get(value) : undefined
    return knownSize ?? countPlainBytes(value)
  }

  /** Keeps the first items that fit; cuts the first one if it is too large alone. */
  *#cutList(items: readonly unknown[], budget: number): Generator<void, unknown[]> {
    let remaining = budget - 2
    let count = 0
    for (const item of items) {
      const size = this.#size(item) + 1
      if (size > remaining) break
      remaining -= size
      count++
    }
    const isTooLarge = count === 0 && items.length > 0 && remaining > MIN_MEMBER_BYTES
    const keptItems = isTooLarge ? [yield* this.cutToFit(items[0], remaining - 1)] : items.slice(0, count)
    this.#leftOut.items += items.length - keptItems.length
    return keptItems
  }

  /** Keeps small members whole; large ones share the remaining budget equally. */
  *#cutObject(value: JsonObject, budget: number): Generator<void, JsonObject> {
    const entries = Object.entries(value)
    const needs = new Float64Array(entries.length)
    for (const [index, [key, inner]] of entries.entries()) {
      if (index % VALUES_PER_STEP === 0) yield
      needs[index] = this.#size(inner) + countKeyBytes(key) + 1
    }
    const share = computeFairShare(needs, budget - 2)
    const isTooFull = entries.some(
      ([key], index) => (needs[index] ?? 0) > share && share - countKeyBytes(key) < MIN_MEMBER_BYTES,
    )
    if (isTooFull && this.#dropsMembers) return this.#keepFirstMembers(entries, needs, budget - 2)
    const fitted: [string, unknown][] = []
    for (const [index, [key, inner]] of entries.entries()) {
      if (index % VALUES_PER_STEP === 0) yield
      const isSmall = (needs[index] ?? 0) <= share
      fitted.push([key, isSmall ? inner : yield* this.cutToFit(inner, share - countKeyBytes(key) - 1)])
    }
    return Object.fromEntries(fitted)
  }

  /** Keeps the first members that fit whole. */
  #keepFirstMembers(entries: readonly [string, unknown][], needs: Float64Array, budget: number): JsonObject {
    let remaining = budget
    const keptEntries = entries.filter((_entry, index) => {
      const need = needs[index] ?? 0
      if (need > remaining) return false
      remaining -= need
      return true
    })
    this.#leftOut.members += entries.length - keptEntries.length
    return Object.fromEntries(keptEntries)
  }

  #cutString(text: string, budget: number): string {
    const prefix = sliceJsonStart(text, Math.max(0, budget - 2 - ELLIPSIS.length * 3))
    this.#leftOut.characters += text.length - prefix.length
    return prefix + ELLIPSIS
  }
}

/** Largest equal share, after small needs are met. */
function computeFairShare(needs: Float64Array, total: number): number {
  let remaining = total
  const rising = needs.toSorted()
  for (const [index, need] of rising.entries()) {
    const share = Math.floor(remaining / (rising.length - index))
    if (need > share) return share
    remaining -= need
  }
  return Infinity
}

/** Longest prefix within a byte budget as JSON; never splits a character. */
function sliceJsonStart(text: string, budget: number): string {
  let low = 0
  let high = Math.min(text.length, budget)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (countPlainBytes(text.slice(0, middle)) - 2 <= budget) low = middle
    else high = middle - 1
  }
  return text.slice(0, toCharBoundary(text, low))
}

/** Moves an index out of a surrogate pair. */
export function toCharBoundary(text: string, index: number): number {
  const code = text.charCodeAt(index - 1)
  return code >= 0xd800 && code <= 0xdbff && index < text.length ? index - 1 : index
}
