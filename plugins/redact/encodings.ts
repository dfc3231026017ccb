import { findInWindows, matches } from './spans.ts'

/** A text as it reads once what is escaped in it is decoded, with the places that its characters came from. */
interface View {
  readonly text: string
  /** Place in the text before, of the character at a place in this one. */
  source(at: number): number
}

/** Escapes of JSON, of URLs, of HTML, and of quoted-printable mail. */
const ESCAPE =
  /\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf"'\\/])|%[0-9a-fA-F]{2}|&(?:#x[0-9a-fA-F]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos|commat|colon|sol|num);|=(?:[0-9A-F]{2}|\r?\n)/g
const MAY_ESCAPE = /[\\%&]|=(?:[0-9A-F]{2}|\r?\n)/

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  commat: '@',
  colon: ':',
  sol: '/',
  num: '#',
}

/** Escapes that are decoded in one step. */
const ESCAPES_PER_STEP = 1000

/** The text with one layer of escapes decoded; undefined where there is none. */
export function* unescaped(text: string): Generator<void, View | undefined> {
  if (!MAY_ESCAPE.test(text)) return undefined
  const places: number[] = [] // pairs: a place in the new text, and the one that it came from
  let decoded = ''
  let done = 0
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    decoded += text.slice(done, index)
    places.push(decoded.length, index)
    decoded += meaning(escape)
    done = index + escape.length
    places.push(decoded.length, done)
    if (places.length % (4 * ESCAPES_PER_STEP) === 0) yield
  }
  if (done === 0) return undefined
  return { text: decoded + text.slice(done), source: at => sourceOf(places, at) }
}

function meaning(escape: string): string {
  const first = escape.charAt(0)
  if (first === '%') return String.fromCharCode(parseInt(escape.slice(1), 16))
  if (first === '=') return escape.endsWith('\n') ? '' : String.fromCharCode(parseInt(escape.slice(1), 16))
  if (first === '&') return entity(escape.slice(1, -1))
  const kind = escape.charAt(1)
  if (kind === 'u' || kind === 'x') return String.fromCharCode(parseInt(escape.slice(2), 16))
  return LETTERS[kind] ?? kind
}

function entity(name: string): string {
  if (!name.startsWith('#')) return ENTITIES[name] ?? ''
  const code = name.startsWith('#x') ? parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

/** The last pair at or before a place decides. */
function sourceOf(places: readonly number[], at: number): number {
  let [low, high] = [0, places.length / 2]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[2 * middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  if (low === 0) return at
  return (places[2 * low - 1] ?? 0) + at - (places[2 * low - 2] ?? 0)
}

/** A run of characters that may be bytes in an encoding. */
export interface Run {
  readonly from: number
  readonly to: number
  /** Its bytes as characters up to 255, from the character at `from + skipped` on. */
  readonly decoded: string
  readonly skipped: number
  encode(bytes: string): string
}

const BASE64 = /[A-Za-z0-9+/_-]{16,}(?:(?:\r?\n|\\n|\\r\\n)[A-Za-z0-9+/_-]{4,})*={0,2}/g
const HEX = /(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){8,}(?![0-9A-Za-z])/g

/** Runs of base64 and of hexadecimal digits that decode to text. */
export function* encodedRuns(text: string): Generator<void, Run[]> {
  const runs: Run[] = []
  for (const { from, to } of yield* findInWindows(text, part => matches(part, HEX, ''))) {
    const run = text.slice(from, to)
    const decoded = Buffer.from(run, 'hex').toString('latin1')
    const isUpper = run === run.toUpperCase()
    const encode = (bytes: string): string => {
      const hex = Buffer.from(bytes, 'latin1').toString('hex')
      return isUpper ? hex.toUpperCase() : hex
    }
    if (isText(decoded)) runs.push({ from, to, decoded, skipped: 0, encode })
    yield
  }
  for (const { from, to } of yield* findInWindows(text, part => matches(part, BASE64, ''))) {
    for (const run of yield* base64Runs(text.slice(from, to), from)) runs.push(run)
    yield
  }
  return runs
}

/** A run may begin with characters that are none of the encoding: it is tried at each of four places. */
function* base64Runs(run: string, from: number): Generator<void, Run[]> {
  const plain = /[\n\\]/.test(run) ? run.replace(/\r?\n|\\r?\\?n/g, found => ' '.repeat(found.length)) : run
  const isForUrls = /[-_]/.test(run)
  const encode = (bytes: string): string => {
    const text = Buffer.from(bytes, 'latin1').toString(isForUrls ? 'base64url' : 'base64')
    return run.endsWith('=') || isForUrls ? text : text.replace(/=+$/, '')
  }
  const runs: Run[] = []
  for (const skipped of [0, 1, 2, 3]) {
    yield
    const decoded = Buffer.from(plain.slice(skipped), 'base64').toString('latin1')
    if (isText(decoded)) runs.push({ from, to: from + run.length, decoded, skipped, encode })
  }
  return runs
}

/** Bytes at random have a control character in nine. */
function isText(bytes: string): boolean {
  const most = bytes.length / 50
  let controls = 0
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes.charCodeAt(at)
    if ((code < 32 && code !== 9 && code !== 10 && code !== 13) || code === 127) controls++
    if (controls > most) return false
  }
  return bytes.length > 0
}
