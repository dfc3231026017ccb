/** The text without secrets. */
export type Hide = (text: string) => string

/** What a reader does not see, or takes for something else: controls, formats, other line ends and blanks, unassigned. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu

/**
 * A value of an agent's as it is on the wire, in the notation of JSON, with everything invisible written out. Of more than
 * `max` characters both ends are shown, and how much is missing between them.
 */
export function quoted(value: unknown, max: number, hide: Hide): string {
  if (typeof value === 'string') return ends(hide(value), max, part => visible(JSON.stringify(part)))
  const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? hide(inner) : inner))
  return ends(json ?? 'nothing', max, visible)
}

function ends(text: string, max: number, write: (part: string) => string): string {
  if (text.length <= max) return write(text)
  const tail = Math.floor(max / 3)
  const head = max - tail
  const [first, last] = [text.slice(0, head), text.slice(-tail)].map(part => write(part.toWellFormed()))
  return `${first} [… ${text.length - max} characters are not shown …] ${last}`
}

function visible(text: string): string {
  return text.replace(INVISIBLE, character =>
    [...Array(character.length).keys()].map(at => escaped(character.charCodeAt(at))).join(''),
  )
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
