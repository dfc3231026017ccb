/**
 * Characters that nobody sees, or that change how others are read: controls but tab and line end, marks of direction,
 * joiners, fillers, variation selectors, tags.
 */
const RANGES: readonly (readonly [from: number, to: number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xffff],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
]

const UNSEEN = new RegExp(`[${RANGES.map(([from, to]) => `${point(from)}-${point(to)}`).join('')}]`, 'gu')

function point(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/** The text with every character that is not seen as `\u…`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escaped)
}

/** Tells how many characters of a text are not seen. */
export function unseenIn(text: string): number {
  return text.match(UNSEEN)?.length ?? 0
}

function escaped(characters: string): string {
  let text = ''
  for (let at = 0; at < characters.length; at++)
    text += `\\u${characters.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}

/** Letters of other alphabets, each over the Latin one that it looks like. */
const FOREIGN = 'авекмнорстухіјѕԁԛԝһαοινκτυρ'
const LATIN = 'abekmhopctyxijsdqwhaoivktup'

/** A name as a hasty reader sees it: two names that look alike have the same. */
export function skeleton(name: string): string {
  const plain = name.normalize('NFKC').replace(UNSEEN, '').toLowerCase()
  return Array.from(plain)
    .map(letter => LATIN[FOREIGN.indexOf(letter)] ?? letter)
    .join('')
    .replace(/[\s_-]+/g, '')
}

/** Tells whether a word mixes Latin letters with Cyrillic or Greek ones. */
export function hasMixedWord(text: string): boolean {
  return /\p{Script=Latin}[\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}]\p{Script=Latin}/u.test(
    text,
  )
}
