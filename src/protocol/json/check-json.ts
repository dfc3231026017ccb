import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MAX_DEPTH,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ScanError,
  skipSpace,
} from './scan-json.ts'
import { proofResult, proveNumbers, proveString, proveValue } from './wasm/proof.ts'

const LETTER_U = 0x75
const PLUS = 0x2b
const DOT = 0x2e
const UPPER_E = 0x45
const LOWER_E = 0x65
/** Number characters, without an exponent, that every parser represents exactly. */
const EXACT = 15

const HEX = createByteTable('0123456789abcdefABCDEF')
/** Characters allowed after a backslash. */
const ESCAPED = createByteTable('"\\/bfnrtu')
/** Bytes allowed after a short integer; others are parsed again by `number`. */
const AFTER_WHOLE = createByteTable(',]}')
const FIRST_OF_NULL = 0x6e
const WORDS = ['true', 'false', 'null'].map(literal => Buffer.from(literal))

/** Validates the number, `true`, `false` or `null` at `at`; returns its end. */
function checkScalar(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] as number
  if (isDigit(first) && first !== ZERO) return checkInteger(bytes, at, end)
  if (first === MINUS || isDigit(first)) return checkNumber(bytes, at, end)
  for (const literal of WORDS) if (literal[0] === first) return checkLiteral(bytes, at, end, literal)
  throw new ScanError('expected a value')
}

/** Validates a number that does not begin with 0; most are short integers. */
function checkInteger(bytes: Buffer, start: number, end: number): number {
  let at = start + 1
  while (at < end && isDigit(bytes[at] as number)) at++
  const isDone = at < end && at - start <= EXACT && AFTER_WHOLE[bytes[at] as number] === 1
  return isDone ? at : checkNumber(bytes, start, end)
}

function checkNumber(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  const integerEnd = first < end && bytes[first] === ZERO ? first + 1 : checkDigits(bytes, first, end)
  const separator = bytes[integerEnd]
  const isWhole = separator !== DOT && separator !== UPPER_E && separator !== LOWER_E
  const after = isWhole ? integerEnd : checkFraction(bytes, integerEnd, end)
  return after
}

/** Validates a fraction or an exponent. */
function checkFraction(bytes: Buffer, dot: number, end: number): number {
  const at = bytes[dot] === DOT ? checkDigits(bytes, dot + 1, end) : dot
  if (at >= end || (bytes[at] !== UPPER_E && bytes[at] !== LOWER_E)) return at
  const sign = at + 1 < end ? bytes[at + 1] : 0
  return checkDigits(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1, end)
}

/** Requires at least one digit. The caller checks the following comma or bracket. */
function checkDigits(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isDigit(bytes[at] as number)) at++
  if (at === start) throw new ScanError('invalid number')
  return at
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function checkLiteral(bytes: Buffer, start: number, end: number, literal: Buffer): number {
  for (let at = 0; at < literal.length; at++)
    if (start + at >= end || bytes[start + at] !== literal[at]) throw new ScanError('expected a value')
  hasNull ||= literal[0] === FIRST_OF_NULL
  return start + literal.length
}

/** Validates the escape sequence after a backslash; returns its end. */
function checkEscape(bytes: Buffer, at: number, end: number): number {
  if (at >= end || ESCAPED[bytes[at] as number] === 0) throw createEscapeError()
  if (bytes[at] !== LETTER_U) return at + 1
  for (let digit = at + 1; digit <= at + 4; digit++)
    if (digit >= end || HEX[bytes[digit] as number] === 0) throw createEscapeError()
  return at + 5
}

function createEscapeError(): ScanError {
  return new ScanError('invalid escape sequence')
}

function createByteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** Maximum names and values in a message; parsing cost depends on their number, not on bytes. */
export const MAX_TOKENS = 1_000_000

/** Receives member positions of a JSON object. Name positions exclude the quotes. */
export interface JsonCallbacks {
  /** Called at the start of a top-level member; return true to visit the members of its value. */
  enterMember(nameStart: number, nameEnd: number): boolean
  /** Called for each member of that value. */
  visitNestedMember(nameStart: number, nameEnd: number, start: number, end: number): void
  /** Called at the end of a top-level member. */
  visitMember(nameStart: number, nameEnd: number, start: number, end: number): void
}

const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
/** String bytes checked in JavaScript before the `wasm/` module takes over. */
const SHORT = 64
/** Text length from which calling the `wasm/` module is faster. */
const LONG = 256

/** Table of bytes that strings may contain unescaped. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

// Shared by all messages, as validation never yields.
let tokens = 0
let hasNull = false
/** Closing bracket for each open level. */
const closingBrackets = new Uint8Array(MAX_DEPTH + 1)
/** List elements after which to check for a run of numbers. */
const MANY_ELEMENTS = 64
/** Difference between an opening bracket and its closing one. */
const CLOSES = CLOSE_OBJECT - OPEN_OBJECT

/**
 * Validates in one pass that `bytes` are one JSON text (RFC 8259) that nests at most 64 levels and has at most 10^6
 * names and values; returns their number. The caller must check UTF-8. With callbacks, the text must be an object.
 * @throws ScanError
 */
export function checkJson(bytes: Buffer, callbacks?: JsonCallbacks): number {
  tokens = 0
  hasNull = false
  const end = bytes.length
  const start = skipSpace(bytes, 0, end)
  const visitsRoot = callbacks !== undefined && bytes[start] === OPEN_OBJECT
  const after = visitsRoot ? checkRootObject(bytes, start, end, callbacks) : checkValue(bytes, start, end, 1)
  if (skipSpace(bytes, after, end) < end) throw new ScanError('unexpected text after the message')
  if (callbacks !== undefined && !visitsRoot) throw new ScanError('not a JSON object', false)
  return tokens
}

/** True if the text that was checked last contains `null` outside of strings. */
export function hadNull(): boolean {
  return hasNull
}

function checkRootObject(bytes: Buffer, open: number, end: number, callbacks: JsonCallbacks): number {
  let at = skipSpace(bytes, open + 1, end)
  if (bytes[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    tokens++
    const nameEnd = checkName(bytes, at, end)
    const start = checkColon(bytes, nameEnd, end)
    const visitsMember = callbacks.enterMember(at + 1, nameEnd) && bytes[start] === OPEN_OBJECT
    const after = visitsMember ? checkVisitedObject(bytes, start, end, callbacks) : checkValue(bytes, start, end, 2)
    callbacks.visitMember(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) return -at
  }
}

/** Validates the value at `from`; returns its end. `level` is the value's own nesting level. */
function checkValue(bytes: Buffer, from: number, end: number, level: number): number {
  const first = bytes[from]
  if (end - from >= LONG && (first === OPEN_OBJECT || first === OPEN_ARRAY)) {
    const after = proveValue(bytes, from, end, level, tokens)
    if (after >= 0) {
      tokens = proofResult.tokens
      hasNull ||= proofResult.hasNull
      return after
    }
    // Reported first, as finding any other error would take longer.
    if (proofResult.tokens > MAX_TOKENS) throw createLimitError()
  }
  return checkValueBytes(bytes, from, end, level)
}

/**
 * Validates a value byte by byte and throws a specific error. One loop with local state: separate functions take 50 %
 * longer.
 */
// eslint-disable-next-line complexity -- see above
function checkValueBytes(bytes: Buffer, from: number, end: number, level: number): number {
  const bottom = level - 1
  let depth = bottom
  let at = from
  let tokenCount = tokens
  let elements = 0
  let enough = MANY_ELEMENTS
  for (;;) {
    if (at >= end) throw new ScanError('unexpected end of message')
    if (++tokenCount > MAX_TOKENS) throw createLimitError()
    const first = bytes[at] as number
    if (first === QUOTE) at = checkString(bytes, at, end)
    else if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) at = checkScalar(bytes, at, end)
    else {
      if (depth === MAX_DEPTH) throw new ScanError(`nested deeper than ${MAX_DEPTH}`, false)
      at = skipWhitespace(bytes, at + 1, end)
      if (at < end && bytes[at] === first + CLOSES) at++
      else {
        closingBrackets[++depth] = first + CLOSES
        if (first === OPEN_ARRAY) continue
        tokenCount++
        at = checkColon(bytes, checkName(bytes, at, end), end)
        continue
      }
    }
    for (;;) {
      if (depth === bottom) {
        tokens = tokenCount
        return at
      }
      at = skipWhitespace(bytes, at, end)
      if (at >= end) throw new ScanError('unexpected end of message')
      const byte = bytes[at++]
      const close = closingBrackets[depth] as number
      if (byte === COMMA) {
        at = skipWhitespace(bytes, at, end)
        if (close !== CLOSE_OBJECT) {
          // After many elements, check for a run of numbers; back off if it was short.
          if (++elements >= enough && startsNumber(bytes[at])) {
            elements = 0
            at = skipWhitespace(bytes, proveNumbers(bytes, at, end, MAX_TOKENS - tokenCount), end)
            tokenCount += proofResult.tokens
            enough = proofResult.tokens < MANY_ELEMENTS ? 2 * enough : MANY_ELEMENTS
          }
          break
        }
        tokenCount++
        at = checkColon(bytes, checkName(bytes, at, end), end)
        break
      }
      if (byte !== close) throw new ScanError('expected "," or a closing bracket')
      depth--
    }
  }
}

function startsNumber(byte: number | undefined): boolean {
  return byte !== undefined && byte <= NINE && (byte >= ZERO || byte === MINUS)
}

/** Returns the index of the first non-whitespace byte. */
function skipWhitespace(bytes: Buffer, at: number, end: number): number {
  return at < end && (bytes[at] as number) > 0x20 ? at : skipSpace(bytes, at, end)
}

/** Validates an object and calls the callbacks for its members. */
function checkVisitedObject(bytes: Buffer, open: number, end: number, callbacks: JsonCallbacks): number {
  tokens++
  let at = skipWhitespace(bytes, open + 1, end)
  if (at < end && bytes[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    tokens++
    const nameEnd = checkName(bytes, at, end)
    const start = checkColon(bytes, nameEnd, end)
    const after = checkValue(bytes, start, end, 3)
    callbacks.visitNestedMember(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) return -at
  }
}

function createLimitError(): ScanError {
  return new ScanError('more than 1,000,000 names and values', false)
}

/** Validates the name at `at`; returns the index of its closing quote. */
function checkName(bytes: Buffer, at: number, end: number): number {
  if (at >= end || bytes[at] !== QUOTE) throw new ScanError('expected a member name')
  return checkString(bytes, at, end) - 1
}

/** Validates the colon after a name; returns the start of its value. */
function checkColon(bytes: Buffer, quote: number, end: number): number {
  const next = quote + 1
  const colon = bytes[next] === COLON ? next : skipSpace(bytes, next, end)
  if (colon >= end || bytes[colon] !== COLON) throw new ScanError('expected ":"')
  const start = colon + 1
  return start < end && (bytes[start] as number) > 0x20 ? start : skipSpace(bytes, start, end)
}

/** Finds the next member or element; returns the end as a negative number after the closing bracket. */
function next(bytes: Buffer, after: number, end: number, close: number): number {
  const at = bytes[after] === close ? after : skipWhitespace(bytes, after, end)
  if (at >= end) throw new ScanError('unexpected end of message')
  const byte = bytes[at]
  if (byte === close) return -(at + 1)
  if (byte === COMMA) return skipWhitespace(bytes, at + 1, end)
  throw new ScanError('expected "," or a closing bracket')
}

/** Validates the string at `open`; returns its end. */
function checkString(bytes: Buffer, open: number, end: number): number {
  const stop = Math.min(end, open + SHORT)
  let at = open + 1
  while (at < stop && PLAIN[bytes[at] as number] === 1) at++
  return at < stop && bytes[at] === QUOTE ? at + 1 : checkAnyString(bytes, at, stop, end)
}

/** Validates the rest of a string that is long or has escape sequences. */
function checkAnyString(bytes: Buffer, from: number, stop: number, end: number): number {
  const after = checkStringBytes(bytes, from, stop, end)
  if (after >= 0) return after
  const at = -after
  const proved = end - at < LONG ? -1 : proveString(bytes, at, end)
  if (proved < 0) return checkStringBytes(bytes, at, end, end)
  return proved
}

/** Validates string bytes; returns the end, or `stop` as a negative number if the string continues there. */
function checkStringBytes(bytes: Buffer, from: number, stop: number, end: number): number {
  let at = from
  for (;;) {
    while (at < stop && PLAIN[bytes[at] as number] === 1) at++
    if (at >= end) throw new ScanError('unterminated string')
    if (at >= stop) return -at
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) throw new ScanError('unescaped control character in a string')
    at = checkEscape(bytes, at + 1, end)
  }
}
