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
} from './scan.ts'
import { proofResult, proveNumbers, proveString, proveValue } from './wasm/proof.ts'

const LETTER_U = 0x75
const PLUS = 0x2b
const DOT = 0x2e
const UPPER_E = 0x45
const LOWER_E = 0x65
/** Characters of a number, without an exponent, that every reader takes for the same number. */
const EXACT = 15

const HEX = createByteTable('0123456789abcdefABCDEF')
/** Characters that may follow a backslash. */
const ESCAPED = createByteTable('"\\/bfnrtu')
/** Bytes that may follow a short whole number; where another one does, `number` reads it again. */
const AFTER_WHOLE = createByteTable(',]}')
const WORDS = ['true', 'false', 'null'].map(word => Buffer.from(word))

/** Proves the number, `true`, `false` or `null` that begins at `at`; returns where it ends. */
function checkScalar(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] as number
  if (isDigit(first) && first !== ZERO) return checkInteger(bytes, at, end)
  if (first === MINUS || isDigit(first)) return checkNumber(bytes, at, end)
  for (const word of WORDS) if (word[0] === first) return checkLiteral(bytes, at, end, word)
  throw new ScanError('expected a value')
}

/** Proves a number that begins with another digit than 0: most of them are short and whole. */
function checkInteger(bytes: Buffer, start: number, end: number): number {
  let at = start + 1
  while (at < end && isDigit(bytes[at] as number)) at++
  const isDone = at < end && at - start <= EXACT && AFTER_WHOLE[bytes[at] as number] === 1
  return isDone ? at : checkNumber(bytes, start, end)
}

function checkNumber(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  const whole = first < end && bytes[first] === ZERO ? first + 1 : checkDigits(bytes, first, end)
  const checkSeparator = bytes[whole]
  const isWhole = checkSeparator !== DOT && checkSeparator !== UPPER_E && checkSeparator !== LOWER_E
  const after = isWhole ? whole : checkFraction(bytes, whole, end)
  return after
}

/** Proves the rest of a number that is not whole, or has an exponent. */
function checkFraction(bytes: Buffer, dot: number, end: number): number {
  const at = bytes[dot] === DOT ? checkDigits(bytes, dot + 1, end) : dot
  if (at >= end || (bytes[at] !== UPPER_E && bytes[at] !== LOWER_E)) return at
  const sign = at + 1 < end ? bytes[at + 1] : 0
  return checkDigits(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1, end)
}

/** At least one digit. What follows a number is looked at by who wants a comma or a bracket there. */
function checkDigits(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isDigit(bytes[at] as number)) at++
  if (at === start) throw new ScanError('a number that JSON does not have')
  return at
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function checkLiteral(bytes: Buffer, start: number, end: number, word: Buffer): number {
  for (let at = 0; at < word.length; at++)
    if (start + at >= end || bytes[start + at] !== word[at]) throw new ScanError('expected a value')
  return start + word.length
}

/** Proves what stands from `at` on, behind a backslash; returns where it ends. */
function checkEscape(bytes: Buffer, at: number, end: number): number {
  if (at >= end || ESCAPED[bytes[at] as number] === 0) throw createEscapeError()
  if (bytes[at] !== LETTER_U) return at + 1
  for (let digit = at + 1; digit <= at + 4; digit++)
    if (digit >= end || HEX[bytes[digit] as number] === 0) throw createEscapeError()
  return at + 5
}

function createEscapeError(): ScanError {
  return new ScanError('an escape that JSON does not have')
}

function createByteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** Most names and values of a message: to parse it costs by these, not by its bytes. */
export const MAX_TOKENS = 1_000_000

/** Hears what stands where in a JSON object. The places of names are those between their quotes. */
export interface JsonCallbacks {
  /** A member of the outermost object begins; true if it wants to hear of the members of its value. */
  enterMember(nameStart: number, nameEnd: number): boolean
  /** A member of that member's own object. */
  visitNestedMember(nameStart: number, nameEnd: number, start: number, end: number): void
  /** The member of the outermost object has ended. */
  visitMember(nameStart: number, nameEnd: number, start: number, end: number): void
}

const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
/** Bytes of a string that are looked at one by one. */
const SHORT = 64
/** Text that is so long is worth a call of the module in `wasm/`. */
const LONG = 256

/** Table of the bytes that stand in a string as they are. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

// One state for all messages, as checking one never yields.
let tokens = 0
/** Bytes that close the open brackets, by level. */
const closingBrackets = new Uint8Array(MAX_DEPTH + 1)
/** Elements of lists after which it is worth a look whether many numbers follow. */
const MANY_ELEMENTS = 64
/** From an opening bracket to the one that closes it. */
const CLOSES = CLOSE_OBJECT - OPEN_OBJECT

/**
 * Proves in one pass that `bytes` are one JSON text (RFC 8259) that nests no deeper than 64 and has no more than 10^6
 * names and values; returns how many it has. Whether they are UTF-8 is for the caller to find out. Who wants to hear of its
 * members wants an object.
 * @throws ScanError
 */
export function checkJson(bytes: Buffer, heard?: JsonCallbacks): number {
  tokens = 0
  const end = bytes.length
  const start = skipSpace(bytes, 0, end)
  const isHeard = heard !== undefined && bytes[start] === OPEN_OBJECT
  const after = isHeard ? checkRootObject(bytes, start, end, heard) : checkValue(bytes, start, end, 1)
  if (skipSpace(bytes, after, end) < end) throw new ScanError('text after the message')
  if (heard !== undefined && !isHeard) throw new ScanError('not a JSON object', false)
  return tokens
}

function checkRootObject(bytes: Buffer, open: number, end: number, heard: JsonCallbacks): number {
  let at = skipSpace(bytes, open + 1, end)
  if (bytes[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    countToken()
    const nameEnd = checkName(bytes, at, end)
    const start = checkColon(bytes, nameEnd, end)
    const isTold = heard.enterMember(at + 1, nameEnd) && bytes[start] === OPEN_OBJECT
    const after = isTold ? checkVisitedObject(bytes, start, end, heard) : checkValue(bytes, start, end, 2)
    heard.visitMember(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) return -at
  }
}

/** Proves the value that begins at `from`, and returns where it ends. `level` is its own, if it nests. */
function checkValue(bytes: Buffer, from: number, end: number, level: number): number {
  const first = bytes[from]
  if (end - from >= LONG && (first === OPEN_OBJECT || first === OPEN_ARRAY)) {
    const after = proveValue(bytes, from, end, level, tokens)
    if (after >= 0) {
      tokens = proofResult.tokens
      return after
    }
    // Of all reasons to refuse a value this one takes longest to find, and it is known by now.
    if (proofResult.tokens > MAX_TOKENS) throw createLimitError()
  }
  return checkValueBytes(bytes, from, end, level)
}

/**
 * Proves a value byte by byte, and says what is wrong with it. One loop over all values in it, with its state in locals: this
 * costs by the value, and calls take half as long again.
 */
// eslint-disable-next-line complexity -- see above
function checkValueBytes(bytes: Buffer, from: number, end: number, level: number): number {
  const bottom = level - 1
  let depth = bottom
  let at = from
  let seen = tokens
  let elements = 0
  let enough = MANY_ELEMENTS
  for (;;) {
    if (at >= end) throw new ScanError('the message ends early')
    if (++seen > MAX_TOKENS) throw createLimitError()
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
        seen++
        at = checkColon(bytes, checkName(bytes, at, end), end)
        continue
      }
    }
    for (;;) {
      if (depth === bottom) {
        tokens = seen
        return at
      }
      at = skipWhitespace(bytes, at, end)
      if (at >= end) throw new ScanError('the message ends early')
      const byte = bytes[at++]
      const close = closingBrackets[depth] as number
      if (byte === COMMA) {
        at = skipWhitespace(bytes, at, end)
        if (close !== CLOSE_OBJECT) {
          // A number behind many elements is likely to be followed by more; where few were, the next look is later.
          if (++elements >= enough && startsNumber(bytes[at])) {
            elements = 0
            at = skipWhitespace(bytes, proveNumbers(bytes, at, end, MAX_TOKENS - seen), end)
            seen += proofResult.tokens
            enough = proofResult.tokens < MANY_ELEMENTS ? 2 * enough : MANY_ELEMENTS
          }
          break
        }
        seen++
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

/** The index of the first byte from `at` on that is not white space; mostly there is none. */
function skipWhitespace(bytes: Buffer, at: number, end: number): number {
  return at < end && (bytes[at] as number) > 0x20 ? at : skipSpace(bytes, at, end)
}

/** Proves the object that begins at `open`, and tells of its members. */
function checkVisitedObject(bytes: Buffer, open: number, end: number, heard: JsonCallbacks): number {
  countToken()
  let at = skipWhitespace(bytes, open + 1, end)
  if (at < end && bytes[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    countToken()
    const nameEnd = checkName(bytes, at, end)
    const start = checkColon(bytes, nameEnd, end)
    const after = checkValue(bytes, start, end, 3)
    heard.visitNestedMember(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) return -at
  }
}

function countToken(): void {
  if (++tokens > MAX_TOKENS) throw createLimitError()
}

function createLimitError(): ScanError {
  return new ScanError('more than 1,000,000 names and values', false)
}

/** Proves the name that begins at `at`; returns where its closing quote stands. */
function checkName(bytes: Buffer, at: number, end: number): number {
  if (at >= end || bytes[at] !== QUOTE) throw new ScanError('expected a member name')
  return checkString(bytes, at, end) - 1
}

/** Proves the colon behind the name that ends at `quote`; returns where its value begins. */
function checkColon(bytes: Buffer, quote: number, end: number): number {
  const colon = skipWhitespace(bytes, quote + 1, end)
  if (colon >= end || bytes[colon] !== COLON) throw new ScanError('expected ":"')
  return skipWhitespace(bytes, colon + 1, end)
}

/** Finds the next member or element; after the closing bracket, returns the end as a negative number. */
function next(bytes: Buffer, after: number, end: number, close: number): number {
  const at = skipSpace(bytes, after, end)
  if (at >= end) throw new ScanError('the message ends early')
  const byte = bytes[at]
  if (byte === COMMA) return skipSpace(bytes, at + 1, end)
  if (byte === close) return -(at + 1)
  throw new ScanError('expected "," or a closing bracket')
}

/** Proves the string whose quote stands at `open`; returns where it ends. */
function checkString(bytes: Buffer, open: number, end: number): number {
  const after = checkStringBytes(bytes, open + 1, Math.min(end, open + SHORT), end)
  if (after >= 0) return after
  const at = -after
  const proved = end - at < LONG ? -1 : proveString(bytes, at, end)
  if (proved < 0) return checkStringBytes(bytes, at, end, end)
  return proved
}

/** Walks a string byte by byte; returns where it ends or, where it goes on at `stop`, that place as a negative number. */
function checkStringBytes(bytes: Buffer, from: number, stop: number, end: number): number {
  let at = from
  for (;;) {
    while (at < stop && PLAIN[bytes[at] as number] === 1) at++
    if (at >= end) throw new ScanError('a string does not end')
    if (at >= stop) return -at
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) throw new ScanError('a control character in a string')
    at = checkEscape(bytes, at + 1, end)
  }
}
