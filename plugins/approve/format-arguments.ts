import type { ApprovalRequest } from '../../src/plugin.ts'
import { escapeInvisible, isObject, toOneLine } from '../../src/plugin.ts'

/** Character budget for all values; each gets a share of at least `MIN_VALUE`. */
const MAX_TEXT = 2000
const MIN_VALUE = 60
/** Character limit for an argument name. */
const MAX_KEY = 120

const WORD = /[\p{L}\p{M}\p{N}]+/gu
const ASCII_LETTER = /[a-z]/i
const LATIN = /\p{Script=Latin}/u
/** Letters in other alphabets that look like Latin ones. */
const CONFUSABLE = /^[авекмнорстухіјѕԁԛԝһӏґαβεηικμνορτυχγωօսոհցɡ\p{N}\p{M}]+$/iu

/** Returns the arguments to show, without values hidden by plugins such as `redact`. */
export function selectArguments({ call, shownArguments }: ApprovalRequest): unknown {
  return shownArguments ?? call.params?.arguments ?? {}
}

/** Formats all arguments on one line, with invisible and confusable characters escaped. */
export function writeArguments(request: ApprovalRequest): string {
  return markUnusual(JSON.stringify(selectArguments(request)))
}

/** Formats a summary: long values truncated in the middle, all top-level keys present. */
export function summarizeArguments(request: ApprovalRequest): string {
  const args = selectArguments(request)
  if (!isObject(args)) return truncate(writeArguments(request), MAX_TEXT)
  const text = writeArguments(request)
  if (text.length <= MAX_TEXT) return text
  const members = Object.entries(args).map(
    ([key, value]) =>
      [truncate(markUnusual(JSON.stringify(key)), MAX_KEY), markUnusual(JSON.stringify(value))] as const,
  )
  const share = findShare(members.map(([, value]) => value.length))
  return `{${members.map(([key, value]) => `${key}:${truncate(value, share)}`).join(',')}}`
}

/** Computes the length limit per value so that all fit: short values leave their share to long ones. */
function findShare(lengths: readonly number[]): number {
  let availableChars = MAX_TEXT
  let remainingCount = lengths.length
  for (const length of lengths.toSorted((one, second) => one - second)) {
    if (length * remainingCount > availableChars) break
    availableChars -= length
    remainingCount--
  }
  return remainingCount === 0 ? MAX_TEXT : Math.max(MIN_VALUE, Math.floor(availableChars / remainingCount))
}

function truncate(text: string, max: number): string {
  if (text.length <= max) return text
  const half = Math.floor(max / 2)
  return `${text.slice(0, half)}… ${text.length - 2 * half} characters …${text.slice(-half)}`
}

function markUnusual(json: string): string {
  return toOneLine(escapeInvisible(json).replace(WORD, markLookAlikes))
}

/** Escapes confusable letters in words that mix alphabets or only look Latin. */
function markLookAlikes(word: string): string {
  let text = ''
  const isMixed = ASCII_LETTER.test(word) || CONFUSABLE.test(word)
  for (const character of word) {
    const isAscii = character <= '\u007f'
    const isFont = !isAscii && /^[a-z0-9]+$/i.test(character.normalize('NFKC'))
    const isForeign = !isAscii && isMixed && /\p{L}/u.test(character) && !LATIN.test(character)
    text += isFont || isForeign || character === 'ɡ' ? escapeCharacter(character) : character
  }
  return text
}

function escapeCharacter(character: string): string {
  return character.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
