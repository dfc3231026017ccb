import { BACKSLASH } from './scan.ts'

const LETTER_U = 0x75
const NINE = 0x39
/** The bit of a letter that a digit does not have, and the place of `a` behind it. */
const LETTER = 0x20
const LETTER_A = 0x61
/** Table of what letters behind a backslash stand for; other characters stand for themselves. */
const MEANT = Uint8Array.from({ length: 256 }, (_, byte) => byte)
for (const [letter, meant] of Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13 }))
  MEANT[letter.charCodeAt(0)] = meant

const SURROGATES = 0xd800
const LOW_SURROGATES = 0xdc00
const AFTER_SURROGATES = 0xe000
/** Stands for half a character, as it does wherever text becomes UTF-8. */
const REPLACEMENT = 0xfffd

/** Tells whether a name is written with escapes. */
export function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

/** Strings of JSON text as the UTF-8 that they stand for, without escapes: the same text is always the same bytes. */
export class PlainText {
  readonly #kept: number
  #bytes: Buffer
  #length = 0

  /** Room for so many bytes is kept when they are cleared. */
  constructor(kept: number) {
    this.#kept = kept
    this.#bytes = Buffer.allocUnsafeSlow(kept)
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  /** Bytes of all strings so far: the place at which the next one begins. */
  get length(): number {
    return this.#length
  }

  clear(): void {
    this.#length = 0
    if (this.#bytes.length > this.#kept) this.#bytes = Buffer.allocUnsafeSlow(this.#kept)
  }

  /** Adds the string between two quotes of a text, which is proven. No escape is shorter than what it stands for. */
  add(text: Buffer, start: number, end: number): void {
    this.#reach(this.#length + end - start)
    for (let at = start; at < end;) {
      const byte = text[at] as number
      if (byte !== BACKSLASH) {
        this.#put(byte)
        at++
      } else if (text[at + 1] !== LETTER_U) {
        this.#put(MEANT[text[at + 1] as number] as number)
        at += 2
      } else at += this.#addCharacter(text, at)
    }
  }

  /** Adds the character that is written as one or two escapes; returns their length. */
  #addCharacter(text: Buffer, at: number): number {
    const unit = unitAt(text, at)
    if (unit < SURROGATES || unit >= AFTER_SURROGATES) this.#putCharacter(unit)
    else {
      const isHigh = unit < LOW_SURROGATES && text[at + 6] === BACKSLASH && text[at + 7] === LETTER_U
      const low = isHigh ? unitAt(text, at + 6) : 0
      if (low >= LOW_SURROGATES && low < AFTER_SURROGATES) {
        this.#putCharacter(0x10000 + ((unit - SURROGATES) << 10) + low - LOW_SURROGATES)
        return 12
      }
      this.#putCharacter(REPLACEMENT)
    }
    return 6
  }

  #putCharacter(code: number): void {
    if (code < 0x80) return this.#put(code)
    if (code < 0x800) this.#put(0xc0 | (code >> 6))
    else {
      if (code < 0x10000) this.#put(0xe0 | (code >> 12))
      else {
        this.#put(0xf0 | (code >> 18))
        this.#put(0x80 | ((code >> 12) & 0x3f))
      }
      this.#put(0x80 | ((code >> 6) & 0x3f))
    }
    this.#put(0x80 | (code & 0x3f))
  }

  #put(byte: number): void {
    this.#bytes[this.#length++] = byte
  }

  #reach(length: number): void {
    if (length <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, length))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/** The number of four hexadecimal digits behind `\u`. */
function unitAt(text: Buffer, at: number): number {
  let unit = 0
  for (let digit = at + 2; digit < at + 6; digit++) {
    const byte = text[digit] as number
    unit = unit * 16 + (byte <= NINE ? byte & 0xf : (byte | LETTER) - LETTER_A + 10)
  }
  return unit
}
