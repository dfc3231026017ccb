import { BACKSLASH, QUOTE } from './bytes.ts'

/** Which bytes begin a value or a name: `{`, `[`, `,` and `:`. */
const BEGINS = Uint8Array.from({ length: 256 }, (_, byte) =>
  '{[,:'.includes(String.fromCharCode(byte)) ? 1 : 0,
)
/** What one of the signs that begin a value stands for: half of an empty object, or a number in a list. */
const BYTES_EACH = 32

/**
 * How much memory the values of a JSON text take once it is parsed, roughly: `{},{},{}` takes twenty times its length.
 * Counts no further than `most`.
 */
export function parsedSize(bytes: Buffer, most: number): number {
  let left = Math.ceil(most / BYTES_EACH)
  const values = left
  for (let at = 0; at < bytes.length && left > 0; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) at = endOfString(bytes, at)
    else left -= BEGINS[byte] as number
  }
  return Math.min(most, (values - left) * BYTES_EACH)
}

/** Where the quote that ends a string is; the end of the text where there is none. */
function endOfString(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1)
  while (end >= 0 && isEscaped(bytes, end)) end = bytes.indexOf(QUOTE, end + 1)
  return end < 0 ? bytes.length : end
}

function isEscaped(bytes: Buffer, quote: number): boolean {
  let before = quote
  while (bytes[before - 1] === BACKSLASH) before--
  return (quote - before) % 2 === 1
}
