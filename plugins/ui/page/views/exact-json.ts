/** Parts of the language that its types do not name yet, and that browsers have since 2023 to 2025: all of them, or none. */
const Exact = JSON as unknown as {
  readonly rawJSON?: (text: string) => object
  readonly isRawJSON?: (value: unknown) => boolean
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** Digits of a number that JavaScript keeps for certain. */
const KEPT = /^\D*(?:\d\D*){0,15}$/
/** Numbers of a JSON text from which its strings were taken. */
const NUMBERS = /-?\d[\d.eE+-]*/g
const STRINGS = /"(?:[^"\\]|\\.)*"/g

/** A text that says no value which can be sent. */
export class Wrong extends Error {}

/**
 * The number that a text says, which is sent with the digits that were typed, such as 2^53+1.
 * @throws Wrong where the browser would send another one
 */
export function exactNumber(text: string): unknown {
  const number = Number(text)
  if (String(number) === text || !NUMBER.test(text)) return number
  if (Exact.rawJSON !== undefined) return Exact.rawJSON(text)
  if (KEPT.test(text) && Number.isFinite(number)) return number
  throw new Wrong(`this browser would send ${number} for ${text}`)
}

/**
 * Reads JSON so that its numbers are sent with the digits that were typed.
 * @throws SyntaxError where it is none, Wrong where the browser would send another number
 */
export function exactJson(text: string): unknown {
  const value = (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, asTyped)
  if (Exact.rawJSON === undefined) text.replaceAll(STRINGS, '').match(NUMBERS)?.forEach(exactNumber)
  return value
}

function asTyped(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined ? exactNumber(source) : value
}

/** True for a number that is kept as its text, which is an object. */
export function isNumberText(value: unknown): boolean {
  return Exact.isRawJSON?.(value) ?? false
}
