import type { JsonObject } from '../../../src/plugin.ts'

const ESCAPE = 0x1b

const BELL = 0x07

const MAX_SEQUENCE = 4096

/** Place of a cleaner inside of what a terminal would not show. */
type Place =
  | 'text'
  /** After ESC. */
  | 'escape'
  /** In a control sequence, up to its final character. */
  | 'control'
  /** In a string for the terminal, up to BEL or ST. */
  | 'string'
  /** After ESC in such a string: ST when a backslash follows. */
  | 'stringEscape'

/** Anything that may not go out as it is. */
// eslint-disable-next-line no-control-regex -- that is what it is about
const SUSPECT = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/

/** C1 controls that begin what their two-character forms begin. */
const INTRODUCERS = new Map<number, Place>([
  [0x9b, 'control'],
  [0x90, 'string'],
  [0x98, 'string'],
  [0x9d, 'string'],
  [0x9e, 'string'],
  [0x9f, 'string'],
])

/** `[`, and `P`, `X`, `]`, `^`, `_`. */
const AFTER_ESCAPE = new Map<number, Place>([
  [0x5b, 'control'],
  [0x50, 'string'],
  [0x58, 'string'],
  [0x5d, 'string'],
  [0x5e, 'string'],
  [0x5f, 'string'],
])

/**
 * Cleans the words of an agent as they come: without escape sequences and control characters (tab and line feed stay),
 * with what turns the direction of text round written out, and with whole characters only. A sequence or a character
 * may be split over chunks.
 */
export class TextCleaner {
  #place: Place = 'text'
  /** Characters of the sequence so far: one that never ends must not swallow everything. */
  #length = 0
  /** First half of a character. */
  #half = ''

  push(chunk: string): string {
    if (this.#place === 'text' && this.#half === '' && !SUSPECT.test(chunk)) return chunk
    let text = ''
    for (const character of this.#whole(chunk)) text += this.#step(character)
    return text
  }

  /** Bytes that were held back at the end. */
  end(): string {
    const rest = this.#half === '' ? '' : '\ufffd'
    this.#half = ''
    this.#place = 'text'
    return rest
  }

  #whole(chunk: string): string {
    const text = this.#half + chunk
    const last = text.charCodeAt(text.length - 1)
    const isHalf = last >= 0xd800 && last <= 0xdbff
    this.#half = isHalf ? text.slice(-1) : ''
    return (isHalf ? text.slice(0, -1) : text).toWellFormed()
  }

  #step(character: string): string {
    const code = character.codePointAt(0) ?? 0
    if (this.#place === 'text') return this.#visible(character, code)
    if (++this.#length > MAX_SEQUENCE || character === '\n') {
      this.#place = 'text'
      return this.#visible(character, code)
    }
    this.#place = NEXT[this.#place](code)
    return ''
  }

  #visible(character: string, code: number): string {
    if (code === 0x09 || code === 0x0a) return character
    const begun = code === ESCAPE ? 'escape' : INTRODUCERS.get(code)
    if (begun !== undefined) {
      this.#place = begun
      this.#length = 0
    }
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return ''
    return turnsAround(code) ? `\\u${code.toString(16)}` : character
  }
}

const NEXT: { readonly [P in Exclude<Place, 'text'>]: (code: number) => Place } = {
  escape: code =>
    code === ESCAPE ? 'escape' : (AFTER_ESCAPE.get(code) ?? (isMiddle(code) ? 'escape' : 'text')),
  control: code => (code === ESCAPE ? 'escape' : code >= 0x20 && code <= 0x3f ? 'control' : 'text'),
  string: code => (code === BELL || code === 0x9c ? 'text' : code === ESCAPE ? 'stringEscape' : 'string'),
  stringEscape: code => (code === 0x5c ? 'text' : NEXT.escape(code)),
}

function isMiddle(code: number): boolean {
  return code >= 0x20 && code <= 0x2f
}

function turnsAround(code: number): boolean {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
}

/** The same for a text that is all there. */
export function cleanText(text: string): string {
  const cleaner = new TextCleaner()
  return cleaner.push(text) + cleaner.end()
}

/** One line of it, for logs and messages: line ends and tabs become spaces, at most so many characters. */
export function cleanLine(text: string, most = 200): string {
  // The part that is cut off need not be cleaned.
  const line = cleanText(text.slice(0, most * 4)).replace(/[\t\n]+/g, ' ')
  return line.length <= most && text.length <= most * 4 ? line : `${line.slice(0, most).toWellFormed()}…`
}

/** The first bytes of a text as UTF-8, without a part of a character at the end. */
export function cutToBytes(
  text: string,
  most: number,
): { readonly text: string; readonly truncated: boolean } {
  if (text.length * 3 <= most) return { text, truncated: false }
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return { text, truncated: false }
  return { text: bytes.subarray(0, boundaryBefore(bytes, most)).toString(), truncated: true }
}

/** The start of the character that the byte at `index` belongs to. */
function boundaryBefore(bytes: Buffer, index: number): number {
  let at = Math.max(0, Math.min(index, bytes.length))
  while (at > 0 && at < bytes.length && isContinuation(bytes[at])) at--
  return at
}

/** True if a byte can only be inside of a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** Takes secrets and control characters out of texts of others. */
export interface Cleaner {
  readonly environment: { hide(text: string): string }
  readonly parts: { readonly containment: { clean(text: string): string } }
}

/** Data of others without secrets; empty where nothing would be left that can be read. */
export function withoutSecrets({ environment }: Cleaner, value: JsonObject): JsonObject {
  try {
    return JSON.parse(environment.hide(JSON.stringify(value))) as JsonObject
  } catch {
    // A secret was more than the inside of a text, or it is too deep to be written.
    return {}
  }
}

/** Text of others as one line: without secrets and control characters, and not too long. */
export function lineOf(cleaner: Cleaner, text: string, max = 500): string {
  const clean = cleaner.environment.hide(cleaner.parts.containment.clean(text)).replace(/\s+/g, ' ').trim()
  return clean.length <= max ? clean : `${clean.slice(0, max - 1)}…`
}

/** The last bytes that a program wrote; what is older is dropped. */
export class OutputRing {
  readonly #most: number
  #chunks: Buffer[] = []
  #length = 0
  #dropped = false

  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    // Copied together now and then only, so that each byte is moved a few times at most.
    if (this.#length > 2 * this.#most || this.#chunks.length > 1024) this.#trim()
  }

  /** As text, from the start of a character to the end of one. */
  read(hasEnded: boolean): { readonly output: string; readonly truncated: boolean } {
    const bytes = this.#trim()
    const end = hasEnded ? bytes.length : wholeCharacters(bytes)
    return { output: bytes.subarray(0, end).toString(), truncated: this.#dropped }
  }

  #trim(): Buffer {
    const all = Buffer.concat(this.#chunks, this.#length)
    let from = Math.max(0, all.length - this.#most)
    if (from > 0) {
      this.#dropped = true
      for (let skipped = 0; skipped < 3 && isContinuation(all[from]); skipped++) from++
    }
    // A copy, or the rest would be kept in memory behind it.
    const kept = from > 0 ? Buffer.from(all.subarray(from)) : all
    this.#chunks = [kept]
    this.#length = kept.length
    return kept
  }
}

/** End of the last character that is all there: the rest of another may be on its way. */
function wholeCharacters(bytes: Buffer): number {
  const last = bytes[bytes.length - 1]
  if (last === undefined || last < 0x80) return bytes.length
  const start = boundaryBefore(bytes, bytes.length - 1)
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return bytes.length - start < length ? start : bytes.length
}
