import type { JsonCallbacks } from './json/check-json.ts'
import { checkJson, hadNull } from './json/check-json.ts'
import { decodeKey } from './json/json-members.ts'
import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT, QUOTE, ScanError } from './json/scan-json.ts'

const LONG_ID = /^-?\d+$/
/** Maximum numeric id digits; parsing longer numbers is slow. */
const MAX_ID_DIGITS = 100

/** JSON-RPC request id; a `bigint` if a `number` cannot represent it exactly. */
export type RpcId = string | number | bigint

/** Converts a number to an id, as a `bigint` if JavaScript would round it. */
export function toExactId(id: number, text: string): RpcId | undefined {
  if (Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))) return id
  return text.length <= MAX_ID_DIGITS && LONG_ID.test(text) ? BigInt(text) : undefined
}

const KEYS = ['jsonrpc', 'id', 'method', 'result', 'error'] as const
/** JSON-RPC members of a message except `params`: requests are parsed whole. */
type MemberKey = (typeof KEYS)[number]

const KEY_INDEXES = new Map<string, number>(KEYS.map((key, index) => [key, index]))
/** Key indexes, inlined for constant arguments. */
const KEY_INDEX = { jsonrpc: 0, id: 1, method: 2, result: 3, error: 4 } as const satisfies Readonly<
  Record<MemberKey, number>
>
const MAX_KEY_LENGTH = Math.max(...KEYS.map(key => key.length))
/** Keys as bytes, grouped by length, so that most messages are read without creating key strings. */
const BY_LENGTH = Array.from({ length: MAX_KEY_LENGTH + 1 }, (_, length) =>
  KEYS.flatMap((key, index) => (key.length === length ? { bytes: Buffer.from(key), index } : [])),
)
/** Each character may be escaped as `\u0000`. */
const MAX_ESCAPED_LENGTH = 6 * MAX_KEY_LENGTH
const RESULT = KEYS.indexOf('result')
/** Maximum message members; each is compared with the known keys. */
const MAX_MEMBERS = 1000
const EMPTY = Buffer.alloc(0)
const VERSION = Buffer.from('"2.0"')
/** Digits of a number that is always exact. */
const EXACT_DIGITS = 15

/** Positions of a reply's top-level members. One instance is reused for all replies, as parsing never yields. */
export class ReplyScanner implements JsonCallbacks {
  #bytes: Buffer = EMPTY
  readonly #starts = new Int32Array(KEYS.length)
  readonly #ends = new Int32Array(KEYS.length)
  #entered = -1
  #members = 0
  #typeStart = -1
  #typeEnd = -1
  /** True if the result has `"isError": true`. */
  isToolError = false
  /** True if a member of the result has a type that is invalid for most methods. */
  hasWrongType = false
  /** True if structured content is not an object, which modern servers may send. */
  hasWrongStructure = false
  /** True if the message contains `null`. */
  hasNull = false
  /** True if the result has a list of blocks, messages or contents. */
  hasList = false

  /**
   * Finds the members.
   * @throws ScanError if the bytes are not a valid JSON object. Members before the error are available.
   */
  scan(bytes: Buffer): void {
    this.#bytes = bytes
    for (let index = 0; index < KEYS.length; index++) this.#starts[index] = -1
    this.#typeStart = -1
    this.#members = 0
    this.isToolError = this.hasWrongType = this.hasWrongStructure = this.hasList = this.hasNull = false
    checkJson(bytes, this)
    this.hasNull = hadNull()
  }

  /** Releases the message. */
  clear(): void {
    this.#bytes = EMPTY
  }

  has(key: MemberKey): boolean {
    return this.start(key) >= 0
  }

  /** Returns the index of a member's value; -1 if missing. */
  start(key: MemberKey): number {
    return this.#starts[KEY_INDEX[key]] as number
  }

  end(key: MemberKey): number {
    return this.#ends[KEY_INDEX[key]] as number
  }

  /** Parses a member's value; undefined if missing. */
  value(key: MemberKey): unknown {
    const start = this.start(key)
    return start < 0 ? undefined : (JSON.parse(this.#bytes.toString('utf8', start, this.end(key))) as unknown)
  }

  /** Parses a scalar value; undefined for a list or an object. */
  #scalar(key: MemberKey): unknown {
    const start = this.start(key)
    return start < 0 || isNested(this.#bytes, start) ? undefined : this.value(key)
  }

  isVersion2(): boolean {
    const start = this.start('jsonrpc')
    if (start < 0) return false
    return equalsBytes(this.#bytes, start, this.end('jsonrpc'), VERSION) || this.#scalar('jsonrpc') === '2.0'
  }

  /** Parses the id, usually a short integer; undefined for a list, an object or a word. */
  id(): RpcId | null | undefined {
    const start = this.start('id')
    const end = this.end('id')
    if (start < 0 || end - start > EXACT_DIGITS || this.#bytes[start] === 0x30) return this.#readAnyId(start, end)
    let id = 0
    for (let at = start; at < end; at++) {
      const digit = (this.#bytes[at] as number) - 0x30
      if (digit < 0 || digit > 9) return this.#readAnyId(start, end)
      id = id * 10 + digit
    }
    return id
  }

  #readAnyId(start: number, end: number): RpcId | null | undefined {
    const id = this.#scalar('id')
    if (typeof id === 'string' || id === null) return id
    return typeof id === 'number' ? toExactId(id, this.#bytes.toString('latin1', start, end)) : undefined
  }

  /** Parses the result's `resultType`; undefined if missing or not a string. */
  resultType(): unknown {
    if (this.#typeStart < 0 || this.#bytes[this.#typeStart] !== QUOTE) return undefined
    return JSON.parse(this.#bytes.toString('utf8', this.#typeStart, this.#typeEnd)) as unknown
  }

  enterMember(nameStart: number, nameEnd: number): boolean {
    if (++this.#members > MAX_MEMBERS) throw new ScanError(`more than ${MAX_MEMBERS} members in the envelope`, false)
    const index = findMember(this.#bytes, nameStart, nameEnd)
    if (index >= 0 && (this.#starts[index] as number) >= 0)
      throw new ScanError(`duplicate member "${KEYS[index] as string}" in the envelope`, false)
    this.#entered = index
    return index === RESULT
  }

  visitNestedMember(nameStart: number, nameEnd: number, start: number, end: number): void {
    if (isMemberName(this.#bytes, nameStart, nameEnd, RESULT_TYPE)) {
      if (this.#typeStart >= 0) throw new ScanError('duplicate member "resultType" in the result', false)
      this.#typeStart = start
      this.#typeEnd = end
    } else if (isMemberName(this.#bytes, nameStart, nameEnd, IS_ERROR)) {
      this.isToolError = equalsBytes(this.#bytes, start, end, TRUE)
      this.hasWrongType ||= !this.isToolError && !equalsBytes(this.#bytes, start, end, FALSE)
    } else if (equalsBytes(this.#bytes, nameStart, nameEnd, STRUCTURED))
      this.hasWrongStructure = this.#bytes[start] !== OPEN_OBJECT
    else this.#visitResultMember(nameStart, nameEnd, start)
  }

  #visitResultMember(nameStart: number, nameEnd: number, start: number): void {
    for (const { name, begins } of NESTED) {
      if (name.length !== nameEnd - nameStart || !equalsBytes(this.#bytes, nameStart, nameEnd, name)) continue
      this.hasList ||= begins === OPEN_ARRAY
      this.hasWrongType ||= this.#bytes[start] !== begins
    }
  }

  visitMember(_nameStart: number, _nameEnd: number, start: number, end: number): void {
    const index = this.#entered
    if (index < 0) return
    this.#starts[index] = start
    this.#ends[index] = end
  }
}

const RESULT_TYPE = Buffer.from('resultType')
const IS_ERROR = Buffer.from('isError')
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const STRUCTURED = Buffer.from('structuredContent')
/** Result members that are a list or an object. */
const NESTED = Object.entries({
  content: OPEN_ARRAY,
  messages: OPEN_ARRAY,
  contents: OPEN_ARRAY,
  _meta: OPEN_OBJECT,
}).map(([name, begins]) => ({ name: Buffer.from(name), begins }))

/** Returns true if a name in the text, possibly escaped, is `name`. */
function isMemberName(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  if (equalsBytes(bytes, start, end, name)) return true
  if (end - start > 6 * name.length || !hasEscape(bytes, start, end)) return false
  return decodeKey(bytes, start, end) === name.toString()
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

function findMember(bytes: Buffer, start: number, end: number): number {
  for (const key of BY_LENGTH[end - start] ?? NONE) if (equalsBytes(bytes, start, end, key.bytes)) return key.index
  if (end - start > MAX_ESCAPED_LENGTH) return -1
  return hasEscape(bytes, start, end) ? (KEY_INDEXES.get(decodeKey(bytes, start, end)) ?? -1) : -1
}

const NONE: readonly never[] = []

function isNested(bytes: Buffer, at: number): boolean {
  return bytes[at] === OPEN_OBJECT || bytes[at] === OPEN_ARRAY
}

function equalsBytes(bytes: Buffer, start: number, end: number, text: Buffer): boolean {
  if (end - start !== text.length) return false
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false
  return true
}
