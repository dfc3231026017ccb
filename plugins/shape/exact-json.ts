/** Text that may hold a number which JavaScript would write as another one, such as 2^53+1 and 1e400. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/

/** Parts of the language that its types do not name yet. */
const Exact = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

/** Reads JSON so that writing it gives every number as it was; undefined for what is none. */
export function readJson(text: string): unknown {
  try {
    return INEXACT.test(text)
      ? (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, asWritten)
      : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

/** True for a number that is kept as its text. */
export function isNumberText(value: unknown): boolean {
  return Exact.isRawJSON(value)
}

function asWritten(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? Exact.rawJSON(source)
    : value
}
