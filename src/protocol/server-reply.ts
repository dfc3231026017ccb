import type { Era } from './methods.ts'
import { decodeKey } from './json/json-members.ts'
import type { JsonObject } from './json/json.ts'
import { isDeeperThan, isObject } from './json/json.ts'
import { CLOSE_OBJECT, COLON, COMMA, MAX_DEPTH, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './json/scan-json.ts'
import { proofResult, proveString, proveValue } from './json/wasm/proof.ts'
import { Payload } from './payload.ts'

/** Reply to a request, with its result. */
export interface ServerReply {
  readonly id: string | number
  readonly result: Payload
  /** Undefined if missing, not a string, or from a legacy server. */
  readonly resultType: string | undefined
}

/** Longer results are validated as bytes, shorter ones by parsing them. */
const MAX_PARSED = 2 * 1024
/** Longest text before and after a result. */
const MAX_ENVELOPE = 256

const SPACE = '[ \\t\\r\\n]*'
const VERSION = `"jsonrpc"${SPACE}:${SPACE}"2\\.0"`
const ID = `"id"${SPACE}:${SPACE}(?:0|-?[1-9]\\d{0,14}|"[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]{0,128}")`
const MEMBER = `(?:${VERSION}|${ID})${SPACE}`
/** The parts of a reply before and after its result; the other members may be in either. */
const HEAD = new RegExp(`^${SPACE}\\{${SPACE}((?:${MEMBER},${SPACE})*)"result"${SPACE}:${SPACE}(?=\\{)`)
const TAIL = new RegExp(`\\}(${SPACE}(?:,${SPACE}${MEMBER})*\\}${SPACE})$`)
const ID_VALUE = /"id"[ \t\r\n]*:[ \t\r\n]*("[^"]*"|[-\d]+)/

/**
 * Reads a reply with a result and no other members than `jsonrpc` and `id`. The result stays the received bytes,
 * which are valid JSON. Undefined for any other message, which must be parsed whole. The caller checks UTF-8.
 */
export function readReply(bytes: Buffer, era: Era | undefined): ServerReply | undefined {
  const head = HEAD.exec(bytes.toString('latin1', 0, MAX_ENVELOPE))
  if (head === null) return undefined
  const start = head[0].length
  const tail = TAIL.exec(bytes.toString('latin1', Math.max(start, bytes.length - MAX_ENVELOPE)))
  if (tail === null) return undefined
  const end = String(tail[1])
  const id = readId(String(head[1]) + end)
  if (id === undefined) return undefined
  const result = bytes.subarray(start, bytes.length - end.length)
  const outcome = readResult(result, era)
  return outcome && { id, ...outcome }
}

/** Returns the id of an envelope; undefined if a member is missing or duplicate. */
function readId(envelope: string): string | number | undefined {
  if (!envelope.includes('"jsonrpc"')) return undefined
  const match = ID_VALUE.exec(envelope)
  if (match === null || envelope.includes('"id"', match.index + 1)) return undefined
  return JSON.parse(String(match[1])) as string | number
}

/** Reads a result's text; undefined if it is not one valid object. */
export function readResult(
  bytes: Buffer,
  era: Era | undefined,
  isParsed = bytes.length <= MAX_PARSED,
): Omit<ServerReply, 'id'> | undefined {
  const members = isParsed ? parseMembers(bytes) : scanMembers(bytes)
  if (members === undefined) return undefined
  const { value, hasNull } = members
  const result = Payload.fromBytes(bytes, era, value.isError === true, isParsed ? value : undefined)
  result.isUnusual = isUnusual(value, era)
  result.hasNull = hasNull
  const { resultType } = value
  return { result, resultType: era !== 'legacy' && typeof resultType === 'string' ? resultType : undefined }
}

interface ResultMembers {
  /** Values have the right type, but lists, objects and texts of a long result are empty. */
  readonly value: JsonObject
  readonly hasNull: boolean
}

function parseMembers(bytes: Buffer): ResultMembers | undefined {
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    const isValid = isObject(value) && !isDeeperThan(value, MAX_DEPTH - 1)
    return isValid ? { value, hasNull: text.includes('null') } : undefined
  } catch {
    return undefined
  }
}

/** Validates the object member by member. */
function scanMembers(bytes: Buffer): ResultMembers | undefined {
  const end = bytes.length
  const value = Object.create(null) as JsonObject
  let hasNull = false
  let tokens = 3
  for (let at = skipSpace(bytes, 1, end); ; at = skipSpace(bytes, at + 1, end)) {
    const nameEnd = bytes[at] === QUOTE ? proveString(bytes, at + 1, end) : -1
    const start = skipColon(bytes, nameEnd, end)
    const after = start < 0 ? -1 : proveValue(bytes, start, end, 3, tokens + 1)
    if (after < 0) return undefined
    ;({ tokens } = proofResult)
    hasNull ||= proofResult.hasNull
    const name = decodeKey(bytes, at + 1, nameEnd - 1)
    value[name] = name === 'resultType' ? readText(bytes, start, after) : getSample(bytes, start)
    at = skipSpace(bytes, after, end)
    if (bytes[at] === CLOSE_OBJECT) return at + 1 === end ? { value, hasNull } : undefined
    if (bytes[at] !== COMMA) return undefined
  }
}

/** Returns the start of the value; -1 without a name or a colon. */
function skipColon(bytes: Buffer, nameEnd: number, end: number): number {
  if (nameEnd < 0) return -1
  const colon = skipSpace(bytes, nameEnd, end)
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1, end) : -1
}

const SAMPLES: ReadonlyMap<number, unknown> = new Map<number, unknown>([
  [OPEN_OBJECT, {}],
  [OPEN_ARRAY, []],
  [QUOTE, ''],
  [0x74, true],
  [0x66, false],
  [0x6e, null],
])

/** Returns a value of the type of that which begins here. */
function getSample(bytes: Buffer, start: number): unknown {
  const first = bytes[start] as number
  return SAMPLES.has(first) ? SAMPLES.get(first) : 0
}

function readText(bytes: Buffer, start: number, end: number): unknown {
  return bytes[start] === QUOTE ? JSON.parse(bytes.toString('utf8', start, end)) : undefined
}

const LISTS = ['content', 'messages', 'contents']

/** True if a member has another type than most methods require, or there is no list. */
function isUnusual(value: JsonObject, era: Era | undefined): boolean {
  const { _meta: meta, isError, structuredContent } = value
  return (
    !LISTS.some(key => key in value) ||
    !LISTS.every(key => value[key] === undefined || Array.isArray(value[key])) ||
    !(meta === undefined || isObject(meta)) ||
    !(isError === undefined || typeof isError === 'boolean') ||
    // Modern servers may send any structured content.
    (era !== 'modern' && structuredContent !== undefined && !isObject(structuredContent))
  )
}
