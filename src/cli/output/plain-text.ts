import { stripVTControlCharacters } from 'node:util'

// eslint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Text of strangers, fit for a terminal: no escape sequences, no control characters but line end and tab, no change of direction. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replace(STEERING, '')
}

/** The same on one line. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Cut to so many columns, with a mark where something is missing. */
export function shortened(text: string, columns: number): string {
  if (text.length <= columns) return text
  const part = text.slice(0, Math.max(0, columns - 1))
  const end = text[part.length] === ' ' ? part.length : part.lastIndexOf(' ')
  // A word that is longer than half of the room is cut all the same.
  return `${(end > columns / 2 ? part.slice(0, end) : part).trimEnd()}…`
}
