import { ScanError } from './scan.ts'

const LETTER_U = 0x75
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const UPPER_E = 0x45
const LOWER_E = 0x65
/** Characters of a number, without an exponent, that every reader takes for the same number. */
const EXACT = 15

const HEX = tableOf('0123456789abcdefABCDEF')
/** Characters that may follow a backslash. */
const ESCAPED = tableOf('"\\/bfnrtu')
/** Bytes that may follow a short whole number; where another one does, `number` reads it again. */
const AFTER_WHOLE = tableOf(',]}')
const WORDS = ['true', 'false', 'null'].map(word => Buffer.from(word))

/** Proves the number, `true`, `false` or `null` that begins at `at`; returns where it ends. */
export function scalar(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] as number
  if (isDigit(first) && first !== ZERO) return whole(bytes, at, end)
  if (first === MINUS || isDigit(first)) return number(bytes, at, end)
  for (const word of WORDS) if (word[0] === first) return literal(bytes, at, end, word)
  throw new ScanError('expected a value')
}

/** Proves a number that begins with another digit than 0: most of them are short and whole. */
function whole(bytes: Buffer, start: number, end: number): number {
  let at = start + 1
  while (at < end && isDigit(bytes[at] as number)) at++
  const isDone = at < end && at - start <= EXACT && AFTER_WHOLE[bytes[at] as number] === 1
  return isDone ? at : number(bytes, start, end)
}

function number(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  const whole = first < end && bytes[first] === ZERO ? first + 1 : digits(bytes, first, end)
  const next = bytes[whole]
  const isWhole = next !== DOT && next !== UPPER_E && next !== LOWER_E
  const after = isWhole ? whole : fraction(bytes, whole, end)
  return after
}

/** Proves the rest of a number that is not whole, or has an exponent. */
function fraction(bytes: Buffer, dot: number, end: number): number {
  const at = bytes[dot] === DOT ? digits(bytes, dot + 1, end) : dot
  if (at >= end || (bytes[at] !== UPPER_E && bytes[at] !== LOWER_E)) return at
  const sign = at + 1 < end ? bytes[at + 1] : 0
  return digits(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1, end)
}

/** At least one digit. What follows a number is looked at by who wants a comma or a bracket there. */
function digits(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isDigit(bytes[at] as number)) at++
  if (at === start) throw new ScanError('a number that JSON does not have')
  return at
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function literal(bytes: Buffer, start: number, end: number, word: Buffer): number {
  for (let at = 0; at < word.length; at++)
    if (start + at >= end || bytes[start + at] !== word[at]) throw new ScanError('expected a value')
  return start + word.length
}

/** Proves what stands from `at` on, behind a backslash; returns where it ends. */
export function escape(bytes: Buffer, at: number, end: number): number {
  if (at >= end || ESCAPED[bytes[at] as number] === 0) throw wrongEscape()
  if (bytes[at] !== LETTER_U) return at + 1
  for (let digit = at + 1; digit <= at + 4; digit++)
    if (digit >= end || HEX[bytes[digit] as number] === 0) throw wrongEscape()
  return at + 5
}

function wrongEscape(): ScanError {
  return new ScanError('an escape that JSON does not have')
}

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}
