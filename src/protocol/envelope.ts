import { keyText } from './members.ts'
import { scanObject, ScanError } from './scan.ts'

const KEYS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const
/** A member of a message that JSON-RPC gives a meaning. */
export type EnvelopeKey = (typeof KEYS)[number]

const PLACES = new Map<string, number>(KEYS.map((key, place) => [key, place]))
/** The same by their length, as bytes: most messages are read without making a string of a key. */
const BY_LENGTH = new Map<number, { readonly bytes: Buffer; readonly place: number }[]>()
for (const [key, place] of PLACES)
  BY_LENGTH.set(key.length, [...(BY_LENGTH.get(key.length) ?? []), { bytes: Buffer.from(key), place }])

const LONGEST = Math.max(...BY_LENGTH.keys())
/** Every character of a key may be written as `\u0000`. */
const LONGEST_ESCAPED = 6 * LONGEST
const BACKSLASH = 0x5c
const VERSION = Buffer.from('"2.0"')
/** Digits of a number that is exact for certain. */
const EXACT_DIGITS = 15

/** Where the members of one message's envelope stand. One object for all messages, as reading one never yields. */
export class Envelope {
  #bytes: Buffer = Buffer.alloc(0)
  readonly #starts = new Int32Array(KEYS.length)
  readonly #ends = new Int32Array(KEYS.length)
  readonly #visit = (keyStart: number, keyEnd: number, start: number, end: number): void =>
    this.#member(keyStart, keyEnd, start, end)

  /** @throws ScanError when the bytes are no object, nest deeper than 64, or have a key of the envelope twice. */
  scan(bytes: Buffer): void {
    this.#bytes = bytes
    this.#starts.fill(-1)
    scanObject(bytes, 0, bytes.length, this.#visit)
  }

  /** Keeps no message alive. */
  clear(): void {
    this.#bytes = EMPTY
  }

  has(key: EnvelopeKey): boolean {
    return this.start(key) >= 0
  }

  /** Where a member's value begins; -1 when there is none. */
  start(key: EnvelopeKey): number {
    return this.#starts[PLACES.get(key) as number] as number
  }

  end(key: EnvelopeKey): number {
    return this.#ends[PLACES.get(key) as number] as number
  }

  /** A member's value, parsed; undefined when there is none. */
  value(key: EnvelopeKey): unknown {
    const start = this.start(key)
    return start < 0 ? undefined : (JSON.parse(this.#bytes.toString('utf8', start, this.end(key))) as unknown)
  }

  isVersion2(): boolean {
    const start = this.start('jsonrpc')
    if (start < 0) return false
    return equals(this.#bytes, start, this.end('jsonrpc'), VERSION) || this.value('jsonrpc') === '2.0'
  }

  /** The id, which is a short whole number most of the time. */
  id(): unknown {
    const start = this.start('id')
    const end = this.end('id')
    if (start < 0 || end - start > EXACT_DIGITS || this.#bytes[start] === 0x30) return this.value('id')
    let id = 0
    for (let at = start; at < end; at++) {
      const digit = (this.#bytes[at] as number) - 0x30
      if (digit < 0 || digit > 9) return this.value('id')
      id = id * 10 + digit
    }
    return id
  }

  #member(keyStart: number, keyEnd: number, start: number, end: number): void {
    const place = placeOf(this.#bytes, keyStart, keyEnd)
    if (place < 0) return
    if ((this.#starts[place] as number) >= 0)
      throw new ScanError(`"${KEYS[place] as string}" stands twice in the envelope`)
    this.#starts[place] = start
    this.#ends[place] = end
  }
}

const EMPTY = Buffer.alloc(0)

function placeOf(bytes: Buffer, start: number, end: number): number {
  for (const key of BY_LENGTH.get(end - start) ?? NONE)
    if (equals(bytes, start, end, key.bytes)) return key.place
  if (end - start > LONGEST_ESCAPED) return -1
  for (let at = start; at < end; at++)
    if (bytes[at] === BACKSLASH) return PLACES.get(keyText(bytes, start, end)) ?? -1
  return -1
}

const NONE: readonly never[] = []

function equals(bytes: Buffer, start: number, end: number, text: Buffer): boolean {
  if (end - start !== text.length) return false
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false
  return true
}
