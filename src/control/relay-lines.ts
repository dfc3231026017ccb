import { jsonOf } from '../util/plain-data.ts'
import type { RpcId } from '../protocol/jsonrpc.ts'

/** A whole number whose digits count, as far as one is read. */
const LONG_ID = /^-?\d{1,99}$/
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** Facts of one JSON-RPC message that a relay needs. */
interface LineFacts {
  readonly id?: RpcId
  readonly method?: string
}

/**
 * Reads the envelope of a message, and nothing of what is in it: the gateway judges each message, a relay only remembers
 * who waits for an answer. The strict reader would cost each attached client 4 MB. What is no message has no facts.
 */
export function factsOf(line: Buffer): LineFacts {
  const facts: { id?: RpcId; method?: string } = {}
  const isWhole = eachMember(line, (key, value) => {
    if (key === 'method' || key === 'id') Object.assign(facts, plain(key, value))
  })
  return isWhole ? facts : {}
}

/** An id or a method as it may be; nothing for what may not. */
function plain(key: 'id' | 'method', value: Buffer): LineFacts {
  const read = key === 'id' ? parseId(value.toString('utf8')) : jsonOf(value.toString('utf8'))
  return read !== undefined && (typeof read === 'string' || key === 'id') ? { [key]: read } : {}
}

/** The id that a text writes; undefined for any other value. */
export function parseId(text: string): RpcId | undefined {
  const read = jsonOf(text)
  if (typeof read === 'string') return read
  if (typeof read !== 'number') return undefined
  const isLong = Number.isInteger(read) && !Number.isSafeInteger(read) && LONG_ID.test(text.trim())
  return isLong ? BigInt(text.trim()) : read
}

/** Visits the members of an object; false where the bytes are none. */
function eachMember(line: Buffer, visit: (key: string, value: Buffer) => void): boolean {
  let at = skipSpace(line, 0)
  if (line[at] !== OPEN_OBJECT) return false
  do {
    const key = skipSpace(line, at + 1)
    if (line[key] !== QUOTE) return false
    const keyEnd = afterString(line, key)
    const colon = skipSpace(line, keyEnd)
    if (line[colon] !== COLON) return false
    const start = skipSpace(line, colon + 1)
    const end = afterValue(line, start)
    if (end <= start) return false
    visit(line.toString('latin1', key + 1, keyEnd - 1), line.subarray(start, end))
    at = skipSpace(line, end)
  } while (line[at] === COMMA)
  return line[at] === CLOSE_OBJECT
}

function skipSpace(line: Buffer, from: number): number {
  let at = from
  while (at < line.length && (line[at] ?? 0) <= 0x20) at++
  return at
}

/** The index behind a string; the end of the line where it does not end. */
function afterString(line: Buffer, open: number): number {
  for (let at = line.indexOf(QUOTE, open + 1); at !== -1; at = line.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (line[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return line.length
}

function afterValue(line: Buffer, start: number): number {
  if (line[start] === QUOTE) return afterString(line, start)
  let depth = 0
  for (let at = start; at < line.length; at++) {
    if (line[at] === QUOTE) at = afterString(line, at) - 1
    const isClosed = closes(line[at])
    if (depth === 0 && (isClosed || line[at] === COMMA)) return at
    if (isClosed && --depth === 0) return at + 1
    if (opens(line[at])) depth++
  }
  return line.length
}

function opens(byte: number | undefined): boolean {
  return byte === OPEN_OBJECT || byte === OPEN_ARRAY
}

function closes(byte: number | undefined): boolean {
  return byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
}
