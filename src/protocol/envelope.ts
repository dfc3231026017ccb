import { CARE, checkJson, tokensSeen, type Care, type JsonReader } from './json/check.ts'
import { found } from './json/scalars.ts'
import { isNoLookAlike, lookAlike } from './json/look-alikes.ts'
import { hasEscape, PlainText } from './json/plain-text.ts'
import { namesNoted } from './json/unique-names.ts'
import { keyText } from './json/members.ts'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, ScanError } from './json/scan.ts'

const KEYS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const
/** A member of a message that JSON-RPC gives a meaning. */
type EnvelopeKey = (typeof KEYS)[number]

const PLACES = new Map<string, number>(KEYS.map((key, place) => [key, place]))
/** The same for who asks with a constant, which costs nothing then. */
const PLACE = { jsonrpc: 0, id: 1, method: 2, params: 3, result: 4, error: 5 } as const satisfies Readonly<
  Record<EnvelopeKey, number>
>
const LONGEST = Math.max(...KEYS.map(key => key.length))
/** The keys by their length, as bytes: most messages are read without making a string of a key. */
const BY_LENGTH = Array.from({ length: LONGEST + 1 }, (_, length) =>
  KEYS.flatMap((key, place) => (key.length === length ? { bytes: Buffer.from(key), place } : [])),
)
/** Texts above this are not remembered. */
const SHORT = 64
/** Every character of a key may be written as `\u0000`. */
const LONGEST_ESCAPED = 6 * LONGEST
/** No member of `params` that counts is longer, with every character as an escape. */
const LONGEST_PARAMETER = 6 * 16
const PARAMS = KEYS.indexOf('params')
const RESULT = KEYS.indexOf('result')
const ERROR = KEYS.indexOf('error')
/** Most members of a message, and of its `params`: no method has more than ten, and each is compared with the names that count. */
const MAX_MEMBERS = 1000
/** Most names in `params` that are parsed as soon as they come, which are those outside of large arguments: each may take 1 µs. */
const MAX_PARSED = 20_000
/** The same for all names and values: each may take 50 ns. */
const MAX_VALUES = 200_000
/** Most names and values of an error, which is always parsed, and whose names are not counted by themselves. */
const MAX_IN_ERROR = 40_000
/** Arguments above this are parsed when somebody reads them: few do. */
const LARGE = 16 * 1024
const EMPTY = Buffer.alloc(0)
const VERSION = Buffer.from('"2.0"')
/** Digits of a number that is exact for certain. */
const EXACT_DIGITS = 15

/** Places of the members of one message's envelope. One object serves all messages, as reading one never yields. */
export class Envelope implements JsonReader {
  /** Marks `params` whose numbers mean the same to every reader. */
  isExact = true
  /** Marks `params` that JavaScript would write differently, and not only with other spaces. */
  isRewritten = false
  #bytes: Buffer = EMPTY
  readonly #starts = new Int32Array(KEYS.length)
  readonly #ends = new Int32Array(KEYS.length)
  #entered = -1
  #members = 0
  #inner = 0
  /** Names in `params` so far, and those of them that are in large arguments. */
  #noted = 0
  #unparsed = 0
  /** Names and values so far, and those of them that are in front of the member that was entered, or in large arguments. */
  #seen = 0
  #left = 0
  /** JSON text of the last method that was read, and what it says. */
  #lastMethod = EMPTY
  #lastMethodText = ''
  #typeStart = -1
  #typeEnd = -1
  /** True where the result says `"isError": true`: a tool's own failure. */
  isToolError = false
  /** True where a member of the result has a type that results of most methods do not have there. */
  hasWrongType = false
  /** True where its structured content is no object, as that of modern servers may be. */
  hasWrongStructure = false
  /** True where the result has a list of blocks, messages or contents, or what stands for one. */
  hasList = false
  /** Place of the object that is `params.arguments`; -1 where there is none. */
  argumentsStart = -1
  argumentsEnd = -1

  /**
   * Finds the members, and returns how many names and values there are in all of them.
   * @throws ScanError when the bytes are no JSON object, or one that is not taken. What was read before that is known.
   */
  scan(bytes: Buffer): number {
    this.#bytes = bytes
    for (let place = 0; place < KEYS.length; place++) this.#starts[place] = -1
    this.#typeStart = -1
    this.#members = this.#noted = this.#unparsed = 0
    this.isToolError = this.hasWrongType = this.hasWrongStructure = this.hasList = false
    this.argumentsStart = this.argumentsEnd = -1
    return checkJson(bytes, this)
  }

  /** Keeps no message alive. */
  clear(): void {
    this.#bytes = EMPTY
  }

  get hasLargeArguments(): boolean {
    return this.argumentsStart >= 0
  }

  has(key: EnvelopeKey): boolean {
    return this.start(key) >= 0
  }

  /** Index at which a member's value begins; -1 when there is none. */
  start(key: EnvelopeKey): number {
    return this.#starts[PLACE[key]] as number
  }

  end(key: EnvelopeKey): number {
    return this.#ends[PLACE[key]] as number
  }

  /** The JSON text of a member's value. */
  bytes(key: EnvelopeKey): Buffer {
    return this.#bytes.subarray(this.start(key), this.end(key))
  }

  /** A member's value, parsed; undefined when there is none. */
  value(key: EnvelopeKey): unknown {
    const start = this.start(key)
    return start < 0 ? undefined : (JSON.parse(this.#bytes.toString('utf8', start, this.end(key))) as unknown)
  }

  /** The same, but undefined for a list or an object, which is not parsed. */
  #scalar(key: EnvelopeKey): unknown {
    const start = this.start(key)
    return start < 0 || isNested(this.#bytes, start) ? undefined : this.value(key)
  }

  /** The method, parsed; undefined where it is a list or an object. One is called again and again, so the last one is known by its bytes. */
  method(): unknown {
    const start = this.start('method')
    const end = this.end('method')
    if (start >= 0 && equals(this.#bytes, start, end, this.#lastMethod)) return this.#lastMethodText
    const method = this.#scalar('method')
    if (typeof method === 'string' && end - start <= SHORT) {
      this.#lastMethod = Buffer.from(this.#bytes.subarray(start, end))
      this.#lastMethodText = method
    }
    return method
  }

  isVersion2(): boolean {
    const start = this.start('jsonrpc')
    if (start < 0) return false
    return equals(this.#bytes, start, this.end('jsonrpc'), VERSION) || this.#scalar('jsonrpc') === '2.0'
  }

  /** The id, which is a short whole number most of the time; undefined where it is a list or an object. */
  id(): unknown {
    const start = this.start('id')
    const end = this.end('id')
    if (start < 0 || end - start > EXACT_DIGITS || this.#bytes[start] === 0x30) return this.#scalar('id')
    let id = 0
    for (let at = start; at < end; at++) {
      const digit = (this.#bytes[at] as number) - 0x30
      if (digit < 0 || digit > 9) return this.#scalar('id')
      id = id * 10 + digit
    }
    return id
  }

  /** The `resultType` of the result, parsed; undefined when it has none, or one that is no text. */
  resultType(): unknown {
    if (this.#typeStart < 0 || this.#bytes[this.#typeStart] !== QUOTE) return undefined
    return JSON.parse(this.#bytes.toString('utf8', this.#typeStart, this.#typeEnd)) as unknown
  }

  enter(nameStart: number, nameEnd: number): Care {
    if (++this.#members > MAX_MEMBERS) throw tooMany('the envelope')
    this.#inner = 0
    this.#seen = this.#left = tokensSeen()
    const place = placeOf(this.#bytes, nameStart, nameEnd)
    if (place >= 0 && (this.#starts[place] as number) >= 0)
      throw new ScanError(`"${KEYS[place] as string}" stands twice in the envelope`, false)
    this.#entered = place
    if (place === RESULT) return CARE.members
    if (place !== PARAMS) return CARE.json
    found.inexact = found.rewritten = false
    return CARE.names
  }

  inner(nameStart: number, nameEnd: number, start: number, end: number): void {
    if (this.#entered === PARAMS) this.#parameter(nameStart, nameEnd, start, end)
    else if (this.#entered === RESULT) this.#resultMember(nameStart, nameEnd, start, end)
  }

  #resultMember(nameStart: number, nameEnd: number, start: number, end: number): void {
    if (isName(this.#bytes, nameStart, nameEnd, RESULT_TYPE)) {
      this.#typeStart = start
      this.#typeEnd = end
    } else if (isName(this.#bytes, nameStart, nameEnd, IS_ERROR)) {
      this.isToolError = equals(this.#bytes, start, end, TRUE)
      this.hasWrongType ||= !this.isToolError && !equals(this.#bytes, start, end, FALSE)
    } else if (equals(this.#bytes, nameStart, nameEnd, STRUCTURED))
      this.hasWrongStructure = this.#bytes[start] !== OPEN_OBJECT
    else this.#nestedMember(nameStart, nameEnd, start)
  }

  #nestedMember(nameStart: number, nameEnd: number, start: number): void {
    for (const { name, begins } of NESTED) {
      if (!equals(this.#bytes, nameStart, nameEnd, name)) continue
      this.hasList ||= begins === OPEN_ARRAY
      this.hasWrongType ||= this.#bytes[start] !== begins
    }
  }

  #parameter(nameStart: number, nameEnd: number, start: number, end: number): void {
    if (++this.#inner > MAX_MEMBERS) throw tooMany('"params"')
    refuseLookAlike(this.#bytes, nameStart, nameEnd)
    const noted = this.#noted
    const seen = this.#seen
    this.#noted = namesNoted()
    this.#seen = tokensSeen()
    if (this.#isLargeArguments(nameStart, nameEnd, start, end)) {
      this.argumentsStart = start
      this.argumentsEnd = end
      this.#unparsed = this.#noted - noted
      this.#left += this.#seen - seen
    } else if (this.#noted - this.#unparsed > MAX_PARSED)
      throw new ScanError(`more than ${MAX_PARSED} names in "params" beside its arguments`, false)
    else if (this.#seen - this.#left > MAX_VALUES)
      throw new ScanError(`more than ${MAX_VALUES} names and values in "params" beside its arguments`, false)
  }

  #isLargeArguments(nameStart: number, nameEnd: number, start: number, end: number): boolean {
    const isLarge = end - start >= LARGE && this.#bytes[start] === OPEN_OBJECT
    return isLarge && isName(this.#bytes, nameStart, nameEnd, ARGUMENTS)
  }

  member(_nameStart: number, _nameEnd: number, start: number, end: number): void {
    const place = this.#entered
    if (place === PARAMS) {
      this.isExact = !found.inexact
      this.isRewritten = found.inexact || found.rewritten
    }
    if (place < 0) return
    if (place === ERROR && tokensSeen() - this.#left > MAX_IN_ERROR)
      throw new ScanError(`more than ${MAX_IN_ERROR} names and values in "error"`, false)
    this.#starts[place] = start
    this.#ends[place] = end
  }
}

function tooMany(where: string): ScanError {
  return new ScanError(`more than ${MAX_MEMBERS} members in ${where}`, false)
}

const ARGUMENTS = Buffer.from('arguments')
const RESULT_TYPE = Buffer.from('resultType')
const IS_ERROR = Buffer.from('isError')
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const STRUCTURED = Buffer.from('structuredContent')
/** Members of results that are a list or an object. */
const NESTED = Object.entries({
  content: OPEN_ARRAY,
  messages: OPEN_ARRAY,
  contents: OPEN_ARRAY,
  _meta: OPEN_OBJECT,
}).map(([name, begins]) => ({ name: Buffer.from(name), begins }))
/** The name that is compared. */
const unescaped = new PlainText(SHORT)

/** Tells whether a name in the text is `name`, also where it is written with escapes. */
function isName(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  if (equals(bytes, start, end, name)) return true
  if (end - start > 6 * name.length || !hasEscape(bytes, start, end)) return false
  unescaped.clear()
  unescaped.add(bytes, start, end)
  return equals(unescaped.bytes, 0, unescaped.length, name)
}

/** Names that most parameters have: they are found without making a string. */
const USUAL = ['name', 'arguments', '_meta'].map(name => Buffer.from(name))

/** @throws ScanError where some readers take the name for one by which rules decide, and others do not. */
function refuseLookAlike(bytes: Buffer, start: number, end: number): void {
  for (const name of USUAL) if (equals(bytes, start, end, name)) return
  if (end - start > LONGEST_PARAMETER || isNoLookAlike(bytes, start, end)) return
  const name = JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string
  const known = lookAlike(name)
  if (known !== undefined) throw new ScanError(`"${name}" in "params" may be read as "${known}"`, false)
}

function placeOf(bytes: Buffer, start: number, end: number): number {
  for (const key of BY_LENGTH[end - start] ?? NONE) if (equals(bytes, start, end, key.bytes)) return key.place
  if (end - start > LONGEST_ESCAPED) return -1
  return hasEscape(bytes, start, end) ? (PLACES.get(keyText(bytes, start, end)) ?? -1) : -1
}

const NONE: readonly never[] = []

function isNested(bytes: Buffer, at: number): boolean {
  return bytes[at] === OPEN_OBJECT || bytes[at] === OPEN_ARRAY
}

function equals(bytes: Buffer, start: number, end: number, text: Buffer): boolean {
  if (end - start !== text.length) return false
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false
  return true
}
