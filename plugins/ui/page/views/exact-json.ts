/** Parts of the language that its types do not name yet, and that browsers have since 2023 to 2025. */
const Exact = JSON as unknown as {
  readonly rawJSON?: (text: string) => object
  readonly isRawJSON?: (value: unknown) => boolean
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** Digits of a number that JavaScript keeps for certain. */
const KEPT = /^\D*(?:\d\D*){0,15}$/

const STRINGS = /"(?:[^"\\]|\\.)*"/g

/** A number that this browser would send as another one. */
export class Rounded extends Error {}

/**
 * The number that a text says, which is sent with the digits that were typed, such as 2^53+1.
 * @throws Rounded where the browser cannot do so
 */
export function exactNumber(text: string): unknown {
  const number = Number(text)
  if (String(number) === text || !NUMBER.test(text)) return number
  if (Exact.rawJSON !== undefined) return Exact.rawJSON(text)
  if (KEPT.test(text)) return number
  throw new Rounded(`this browser would send ${number} for ${text}`)
}

/**
 * Reads JSON so that its numbers are sent with the digits that were typed.
 * @throws SyntaxError where it is none, Rounded where the browser cannot do so
 */
export function exactJson(text: string): unknown {
  const reviver: Reviver = (_key, value, context) =>
    typeof value !== 'number' ? value : exactNumber(context?.source ?? digitsOf(value, text))
  return (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, reviver)
}

/** A browser that does not say how a number was written: it is taken as read where no number of the text is long. */
function digitsOf(value: number, text: string): string {
  const long = text.replaceAll(STRINGS, '').match(/\d[\d.]{15,}/)?.[0]
  if (long !== undefined) throw new Rounded(`this browser may send another number for ${long}`)
  return String(value)
}

/** True for a number that is kept as its text, which is an object. */
export function isNumberText(value: unknown): boolean {
  return Exact.isRawJSON?.(value) ?? false
}
