import { escape, found, scalar } from './json-scalars.ts'
import { MAX_DEPTH, ScanError, skipSpace } from './scan.ts'
import { beginNames, endNames, forgetNames, noteName } from './unique-names.ts'

/** Most names and values of a message: to parse it costs by these, not by its bytes. */
export const MAX_TOKENS = 1_000_000

/** What is looked at inside a member of the outermost object. */
export const CARE = {
  /** Only that it is JSON. */
  json: 0,
  /** Its own members are told, and it may not have a name twice. */
  members: 1,
  /** The same, and no object in it may have a name twice either. */
  names: 2,
} as const
export type Care = (typeof CARE)[keyof typeof CARE]

/** Hears what stands where in a JSON object. The places of names are those between their quotes. */
export interface JsonVisitor {
  /** A member of the outermost object begins; says what is looked at in its value. */
  enter(nameStart: number, nameEnd: number): Care
  /** A member of that member's own object. */
  inner(nameStart: number, nameEnd: number, start: number, end: number): void
  /** The member of the outermost object has ended. */
  member(nameStart: number, nameEnd: number, start: number, end: number): void
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const ZERO = 0x30
const HIGH_BITS = 0x80808080 | 0

const NO_WORDS = new DataView(new ArrayBuffer(0))

// One state for all messages, as checking one never yields.
let tokens = 0
let words: DataView = NO_WORDS
let visitor: JsonVisitor | undefined

/**
 * Proves in one pass that `bytes` are one JSON text (RFC 8259) that nests no deeper than 64 and has no more than 10^6
 * names and values. Whether they are UTF-8 is for the caller to find out. Who wants to hear of its members wants an object.
 * @throws ScanError
 */
export function checkJson(bytes: Buffer, heard?: JsonVisitor): void {
  tokens = 0
  words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  visitor = heard
  try {
    const end = bytes.length
    const start = skipSpace(bytes, 0, end)
    const isHeard = heard !== undefined && bytes[start] === OPEN_OBJECT
    const after = isHeard ? outermost(bytes, start, end, heard) : value(bytes, start, end, 1, false)
    if (skipSpace(bytes, after, end) < end) throw new ScanError('text after the message')
    if (heard !== undefined && !isHeard) throw new ScanError('not a JSON object', false)
  } finally {
    visitor = undefined
    words = NO_WORDS
    forgetNames()
  }
}

function outermost(bytes: Buffer, open: number, end: number, heard: JsonVisitor): number {
  let at = skipSpace(bytes, open + 1, end)
  if (bytes[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    const nameEnd = name(bytes, at, end)
    const start = valueAfter(bytes, nameEnd, end)
    const care = heard.enter(at + 1, nameEnd)
    const isTold = care !== CARE.json && bytes[start] === OPEN_OBJECT
    const after = isTold
      ? object(bytes, start, end, 2, care === CARE.names, true)
      : value(bytes, start, end, 2, care === CARE.names)
    heard.member(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) return -at
  }
}

/** Proves the value that begins at `at`, and returns where it ends. `level` is its own, if it nests. */
function value(bytes: Buffer, at: number, end: number, level: number, isUnique: boolean): number {
  if (at >= end) throw new ScanError('the message ends early')
  const first = bytes[at]
  if (first === OPEN_OBJECT) return object(bytes, at, end, level, isUnique, false)
  if (first === OPEN_ARRAY) return array(bytes, at, end, level, isUnique)
  count()
  if (first === QUOTE) return string(bytes, at, end)
  return scalar(bytes, at, end)
}

function object(
  bytes: Buffer,
  open: number,
  end: number,
  level: number,
  isUnique: boolean,
  isTold: boolean,
): number {
  descend(level)
  let at = skipSpace(bytes, open + 1, end)
  if (bytes[at] === CLOSE_OBJECT && at < end) return at + 1
  const base = beginNames()
  let many: Set<string> | undefined
  for (;;) {
    const nameEnd = name(bytes, at, end)
    if (isUnique || isTold) many = noteName(bytes, at + 1, nameEnd, base, many)
    const start = valueAfter(bytes, nameEnd, end)
    const after = value(bytes, start, end, level + 1, isUnique)
    if (isTold) visitor?.inner(at + 1, nameEnd, start, after)
    at = next(bytes, after, end, CLOSE_OBJECT)
    if (at < 0) {
      endNames(base)
      return -at
    }
  }
}

function array(bytes: Buffer, open: number, end: number, level: number, isUnique: boolean): number {
  descend(level)
  let at = skipSpace(bytes, open + 1, end)
  if (bytes[at] === CLOSE_ARRAY && at < end) return at + 1
  for (;;) {
    at = next(bytes, value(bytes, at, end, level + 1, isUnique), end, CLOSE_ARRAY)
    if (at < 0) return -at
  }
}

function descend(level: number): void {
  count()
  if (level > MAX_DEPTH) throw new ScanError(`nested deeper than ${MAX_DEPTH}`, false)
}

function count(): void {
  if (++tokens > MAX_TOKENS) throw new ScanError('more than 1,000,000 names and values', false)
}

/** Proves the name that begins at `at`; returns where its closing quote stands. */
function name(bytes: Buffer, at: number, end: number): number {
  if (at >= end || bytes[at] !== QUOTE) throw new ScanError('expected a member name')
  count()
  const digit = (bytes[at + 1] as number) - ZERO
  // JavaScript puts names that are numbers in front of all others.
  if (digit >= 0 && digit <= 9) found.rewritten = true
  return string(bytes, at, end) - 1
}

/** Where the value begins whose name ends at `quote`. */
function valueAfter(bytes: Buffer, quote: number, end: number): number {
  const colon = skipSpace(bytes, quote + 1, end)
  if (colon >= end || bytes[colon] !== COLON) throw new ScanError('expected ":"')
  return skipSpace(bytes, colon + 1, end)
}

/** Where the next member or element begins; where everything ends, as a negative number, after the closing bracket. */
function next(bytes: Buffer, after: number, end: number, close: number): number {
  const at = skipSpace(bytes, after, end)
  const byte = at < end ? bytes[at] : undefined
  if (byte === COMMA) return skipSpace(bytes, at + 1, end)
  if (byte === close) return -(at + 1)
  throw new ScanError(byte === undefined ? 'the message ends early' : 'expected "," or a closing bracket')
}

/** Proves the string whose quote stands at `open`; returns where it ends. */
function string(bytes: Buffer, open: number, end: number): number {
  let at = open + 1
  for (;;) {
    at = skipPlain(bytes, at, end)
    if (at >= end) throw new ScanError('a string does not end')
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) throw new ScanError('a control character in a string')
    at = escape(bytes, at + 1, end)
  }
}

/** Passes over what may stand in a string as it is, four bytes at a time: a high bit shows a byte that may not. */
function skipPlain(bytes: Buffer, from: number, end: number): number {
  let at = from
  for (; at + 4 <= end; at += 4) {
    const word = words.getInt32(at, true)
    const quote = word ^ 0x22222222
    const slash = word ^ 0x5c5c5c5c
    const found =
      (((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash) | ((word - 0x20202020) & ~word)) &
      HIGH_BITS
    // Borrows can only show bytes behind the first that was found.
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3)
  }
  while (at < end && isPlain(bytes[at] as number)) at++
  return at
}

function isPlain(byte: number): boolean {
  return byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH
}
