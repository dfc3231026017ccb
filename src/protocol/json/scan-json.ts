import { canProve, proveString, proveValue } from './wasm/proof.ts'

/** JSON syntax bytes. */
export const QUOTE = 0x22

export const BACKSLASH = 0x5c

export const OPEN_OBJECT = 0x7b

export const CLOSE_OBJECT = 0x7d

export const OPEN_ARRAY = 0x5b

export const CLOSE_ARRAY = 0x5d

export const COMMA = 0x2c

export const COLON = 0x3a

/** Maximum message nesting. */
export const MAX_DEPTH = 64

/** String bytes checked in JavaScript before the `wasm/` module takes over. */
const WALK = 64

/** Text length from which calling the module is faster. */
const LONG = 256

/** Error for rejected bytes. */
export class ScanError extends Error {
  override readonly name = 'ScanError'
}

/** Receives the positions of a member's key (without quotes) and value. */
type VisitMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void

/**
 * Visits the members of the JSON object in `bytes` from `start` to `end`, without parsing values.
 * Checks only brackets and depth.
 * @throws ScanError if the bytes are not an object, or nest deeper than 64.
 */
export function scanObject(bytes: Buffer, start: number, end: number, visitMember: VisitMember): void {
  let at = skipSpace(bytes, start, end)
  if (!isByteAt(bytes, at, end, OPEN_OBJECT)) throw new ScanError('not a JSON object')
  at = skipSpace(bytes, at + 1, end)
  if (isByteAt(bytes, at, end, CLOSE_OBJECT)) return createEndError(bytes, at + 1, end)
  for (;;) {
    at = skipSpace(bytes, scanMember(bytes, at, end, visitMember), end)
    if (isByteAt(bytes, at, end, CLOSE_OBJECT)) return createEndError(bytes, at + 1, end)
    if (!isByteAt(bytes, at, end, COMMA)) throw new ScanError('expected "," or "}"')
    at = skipSpace(bytes, at + 1, end)
  }
}

/** Visits the member at `at`; returns its end. */
function scanMember(bytes: Buffer, at: number, end: number, visitMember: VisitMember): number {
  if (!isByteAt(bytes, at, end, QUOTE)) throw new ScanError('expected a member name')
  const keyEnd = skipString(bytes, at, end) - 1
  const colon = skipSpace(bytes, keyEnd + 1, end)
  if (!isByteAt(bytes, colon, end, COLON)) throw new ScanError('expected ":"')
  const valueStart = skipSpace(bytes, colon + 1, end)
  const valueEnd = skipValue(bytes, valueStart, end)
  visitMember(at + 1, keyEnd, valueStart, valueEnd)
  return valueEnd
}

function isByteAt(bytes: Buffer, at: number, end: number, byte: number): boolean {
  return at < end && bytes[at] === byte
}

/**
 * Visits the elements of a JSON array, without parsing them.
 * @throws ScanError if the bytes are not an array, or nest deeper than 64.
 */
export function scanArray(bytes: Buffer, visitElement: (start: number, end: number) => void): void {
  const end = bytes.length
  let at = skipSpace(bytes, 0, end)
  if (bytes[at] !== OPEN_ARRAY) throw new ScanError('not a JSON array')
  at = skipSpace(bytes, at + 1, end)
  if (bytes[at] === CLOSE_ARRAY) return createEndError(bytes, at + 1, end)
  for (;;) {
    const start = at
    at = skipValue(bytes, start, end)
    visitElement(start, at)
    at = skipSpace(bytes, at, end)
    if (bytes[at] === CLOSE_ARRAY && at < end) return createEndError(bytes, at + 1, end)
    if (bytes[at] !== COMMA || at >= end) throw new ScanError('expected "," or "]"')
    at = skipSpace(bytes, at + 1, end)
  }
}

function createEndError(bytes: Buffer, at: number, end: number): void {
  if (skipSpace(bytes, at, end) < end) throw new ScanError('unexpected text after the message')
}

/** Returns the index of the first non-whitespace byte. */
export function skipSpace(bytes: Buffer, at: number, end: number): number {
  while (at < end) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
    at++
  }
  return at
}

/** Returns false if the bytes are not one valid JSON value; true as well if WebAssembly is unavailable. */
export function isValidValue(bytes: Buffer): boolean {
  if (!canProve()) return true
  const end = proveValue(bytes, 0, bytes.length, 1, 0)
  return end >= 0 && skipSpace(bytes, end, bytes.length) === bytes.length
}

/** Returns the end of the value at `at`. */
function skipValue(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]
  if (at >= end) throw new ScanError('unexpected end of message')
  if (first === QUOTE) return skipString(bytes, at, end)
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return skipNested(bytes, at, end)
  const start = at
  while (at < end && !isScalarEnd(bytes[at])) at++
  if (at === start) throw new ScanError('expected a value')
  return at
}

function isScalarEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || (byte !== undefined && byte <= 0x20)
}

/** Stack of open brackets, shared as scanning never yields. The envelope is level 1. */
const openBrackets = new Uint8Array(MAX_DEPTH + 1)

function skipNested(bytes: Buffer, at: number, end: number): number {
  const after = end - at < LONG ? -1 : proveValue(bytes, at, end, 2, 0)
  return after < 0 ? skipNestedBytes(bytes, at, end) : after
}

function skipNestedBytes(bytes: Buffer, at: number, end: number): number {
  let depth = 1
  while (at < end) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      at = skipString(bytes, at, end)
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) throw new ScanError(`nested deeper than ${MAX_DEPTH}`)
      openBrackets[depth] = byte + 2
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (openBrackets[depth] !== byte) throw new ScanError('mismatched brackets')
      if (--depth === 1) return at + 1
    }
    at++
  }
  throw new ScanError('unexpected end of message')
}

function skipString(bytes: Buffer, at: number, end: number): number {
  const stop = Math.min(end, at + WALK)
  let from = at + 1
  while (from < stop) {
    const byte = bytes[from]
    if (byte === QUOTE) return from + 1
    from += byte === BACKSLASH ? 2 : 1
  }
  if (from >= end) throw new ScanError('unterminated string')
  const after = proveString(bytes, from, end)
  return after < 0 ? skipStringBySearch(bytes, from, end) : after
}

function skipStringBySearch(bytes: Buffer, begin: number, end: number): number {
  let from = begin
  for (;;) {
    const quote = bytes.indexOf(QUOTE, from)
    if (quote < 0 || quote >= end) throw new ScanError('unterminated string')
    if (!isEscaped(bytes, begin, quote)) return quote + 1
    from = quote + 1
  }
}

/** Returns true if a backslash escapes this quote, in a string that begins at `from`. */
function isEscaped(bytes: Buffer, from: number, quote: number): boolean {
  let slashes = 0
  while (quote - 1 - slashes >= from && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
  return slashes % 2 === 1
}
