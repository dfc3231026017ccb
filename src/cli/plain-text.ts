import { stripVTControlCharacters } from 'node:util'

/** Text of strangers, fit for a terminal: no escape sequences, no control characters but line end and tab. */
export function plainText(text: string): string {
  // eslint-disable-next-line no-control-regex
  return stripVTControlCharacters(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '')
}

/** The same on one line. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Cut to so many columns, with a mark where something is missing. */
export function shortened(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1)).trimEnd()}…`
}
