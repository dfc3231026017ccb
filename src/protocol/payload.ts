import type { JsonObject } from './json/json.ts'
import { mayRewriteNumbers, parseJson, stringifyJson, isDeeperThan, isObject } from './json/json.ts'
import { editObject, findMemberValue, mayHaveMember, decodeKey } from './json/json-members.ts'
import type { Era } from './methods.ts'
import { CLOSE_OBJECT, COLON, COMMA, MAX_DEPTH, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './json/scan-json.ts'
import { proofResult, proveString, proveValue } from './json/wasm/proof.ts'

const TRUE = Buffer.from('true')

/**
 * Result that may still be the received bytes. `value()` parses on first use, `bytes()` serializes on first use; an
 * unread
 * result is never parsed. Never mutate the object from `value()`: create a new Payload.
 *
 * ```ts
 * const shout = Payload.of({ ...payload.value(), loud: true }, payload.era)
 * ```
 */
export class Payload {
  /** Wire form era; undefined for results created by the gateway, which are valid in both. */
  readonly era: Era | undefined
  /**
   * Time until which the sender allows caching, in clock milliseconds; set by a cache, and extended by revalidation.
   * If unset, `ttlMs` decides.
   */
  freshUntil: number | undefined = undefined
  /** True if a member has an unexpected type for most methods, or there is no list. */
  isUnusual = false
  /** True if the received text may contain `null` as a value. */
  hasNull = false
  #bytes: Buffer | undefined
  #value: JsonObject | undefined
  #isToolError: boolean | undefined

  private constructor(bytes: Buffer | undefined, value: JsonObject | undefined, era: Era | undefined) {
    this.#bytes = bytes
    this.#value = value
    this.era = era
  }

  /** Creates a payload from received JSON text of one object; `isToolError` and `value` if already known. */
  static fromBytes(bytes: Buffer, era?: Era, isToolError?: boolean, value?: JsonObject): Payload {
    const payload = new Payload(bytes, value, era)
    payload.#isToolError = isToolError
    return payload
  }

  /** Creates a payload from a value. */
  static of(value: JsonObject, era?: Era): Payload {
    return new Payload(undefined, value, era)
  }

  value(): JsonObject {
    this.#value ??= JSON.parse((this.#bytes as Buffer).toString('utf8')) as JsonObject
    return this.#value
  }

  /** The value if it is already parsed. */
  get parsed(): JsonObject | undefined {
    return this.#value
  }

  bytes(): Buffer {
    this.#bytes ??= Buffer.from(JSON.stringify(this.#value))
    return this.#bytes
  }

  /** True for a tool failure (`isError`). Members are walked only if the text may contain it. */
  get isToolError(): boolean {
    this.#isToolError ??=
      mayHaveMember(this.bytes(), 'isError') && findMemberValue(this.bytes(), 'isError')?.equals(TRUE) === true
    return this.#isToolError
  }

  /**
   * Marks the payload as derived from another: unchanged numbers that JavaScript cannot represent keep their text.
   */
  derive(before: Payload): Payload {
    const bytes = before.#bytes
    if (this.#value === undefined || this.#bytes !== undefined || bytes === undefined) return this
    if (before.era !== this.era) return this
    const text = bytes.toString('utf8')
    // Most results have no such number and are not parsed again.
    if (!mayRewriteNumbers(text)) return this
    return Payload.fromBytes(Buffer.from(stringifyJson(this.#value, parseJson(text) as JsonObject)), this.era)
  }

  /** Copies the payload with members dropped and added, spliced into the bytes. */
  edit(without: readonly string[], put: JsonObject = {}): Payload {
    const added = JSON.stringify(put).slice(1, -1)
    return Payload.fromBytes(editObject(this.bytes(), new Set(without), added), this.era)
  }
}

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
  const members = isParsed ? parseShortMembers(bytes) : scanLongMembers(bytes)
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

function parseShortMembers(bytes: Buffer): ResultMembers | undefined {
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    const isValid = isObject(value) && (text.length < 2 * MAX_DEPTH || !isDeeperThan(value, MAX_DEPTH - 1))
    return isValid ? { value, hasNull: text.includes('null') } : undefined
  } catch {
    return undefined
  }
}

/** Validates the object member by member. */
function scanLongMembers(bytes: Buffer): ResultMembers | undefined {
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

/** Returns the value's start; -1 without a name or a colon. */
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

/** Returns a value with the type that begins here. */
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
