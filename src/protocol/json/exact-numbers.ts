import type { JsonObject } from './json.ts'

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
 * at its end, or -0. Each alternative is bounded, so that the search is linear.
 */
const MAY_CHANGE = /[\d.]{16}|\d[eE][+-]?\d{1,6}[\s,\]}]|\.\d{0,15}0[\s,\]}]|-0[\s,\]}]/

/** Longest number, without an exponent, that every reader takes for the same value. */
const EXACT_LENGTH = 15

/** The reviver's third argument and `rawJSON`, which TypeScript's library does not declare yet. */
interface ReviverContext {
  readonly source?: string
}
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

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
    if (inner !== undefined) notesFor(this).isExact &&= inner.isExact
  }
  return value
}

function noteText(holder: object, key: string, value: number, text: string): void {
  if (text === String(value)) return
  const notes = notesFor(holder)
  notes.texts.set(key, text)
  notes.isExact &&= text.length <= EXACT_LENGTH && !/e/i.test(text)
}

function notesFor(holder: object): NumberNotes {
  let notes = NOTES.get(holder)
  if (notes === undefined) NOTES.set(holder, (notes = { texts: new Map(), isExact: true }))
  return notes
}

/** Tells whether every reader takes the numbers in parsed parameters for the same values. */
export function hasExactNumbers(value: object | undefined): boolean {
  return value === undefined || (NOTES.get(value)?.isExact ?? true)
}

/** Returns the text of a member that is a number which JavaScript would write otherwise. */
export function numberText(holder: object, key: string): string | undefined {
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
    if (typeof now === 'number') return holder === undefined ? now : asWritten(now, holder, key)
    if (typeof now !== 'object' || now === null) return now
    const before: unknown = origins.size === 0 ? origin : holder && Reflect.get(holder, key)
    if (NOTES.has(now)) origins.set(now, now)
    else if (typeof before === 'object' && before !== null) origins.set(now, before)
    return now
  })
}

function asWritten(now: number, holder: object, key: string): unknown {
  const text = Object.is(now, Reflect.get(holder, key)) ? NOTES.get(holder)?.texts.get(key) : undefined
  return text === undefined ? now : rawJSON(text)
}

/** A value in which each number is the text that it is written as, to repeat it in a header. */
export function withNumbersAsText(
  value: JsonObject | undefined,
  origin: JsonObject | undefined,
): JsonObject | undefined {
  if (value === undefined || origin === undefined || !NOTES.has(origin)) return value
  return JSON.parse(stringifyJson(value, origin), numberAsText) as JsonObject
}

function numberAsText(_key: string, value: unknown, context?: ReviverContext): unknown {
  return typeof value === 'number' ? context?.source : value
}
