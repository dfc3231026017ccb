import { findInWindows, findMatches } from './find-spans.ts'

/** Decoded text, with a map back to the original offsets. */
interface DecodedText {
  readonly text: string
  /** Maps an offset in `text` to one in the source text. */
  sourceOffset(at: number): number
}

/** Escapes in JSON and URLs. */
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf"'\\/])|%[0-9a-fA-F]{2}/g
const MAY_ESCAPE = /[\\%]/

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** Escapes decoded before the event loop gets a turn. */
const ESCAPES_PER_STEP = 1000

/** Decodes one layer of escapes; undefined if the text has none. */
export function* decodeEscapes(text: string): Generator<void, DecodedText | undefined> {
  if (!MAY_ESCAPE.test(text)) return undefined
  const offsetPairs: number[] = [] // pairs: a place in the new text, and the one that it came from
  let decoded = ''
  let done = 0
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    decoded += text.slice(done, index)
    offsetPairs.push(decoded.length, index)
    decoded += decodeEscape(escape)
    done = index + escape.length
    offsetPairs.push(decoded.length, done)
    if (offsetPairs.length % (4 * ESCAPES_PER_STEP) === 0) yield
  }
  if (done === 0) return undefined
  return { text: decoded + text.slice(done), sourceOffset: at => mapOffset(offsetPairs, at) }
}

function decodeEscape(escape: string): string {
  const first = escape.charAt(0)
  if (first === '%') return String.fromCharCode(parseInt(escape.slice(1), 16))
  const kind = escape.charAt(1)
  if (kind === 'u' || kind === 'x') return String.fromCharCode(parseInt(escape.slice(2), 16))
  return LETTERS[kind] ?? kind
}

/** Binary search for the last pair at or before `at`. */
function mapOffset(offsets: readonly number[], at: number): number {
  let [low, high] = [0, offsets.length / 2]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((offsets[2 * middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  if (low === 0) return at
  return (offsets[2 * low - 1] ?? 0) + at - (offsets[2 * low - 2] ?? 0)
}

/** Characters that may be encoded bytes. */
export interface EncodedRun {
  readonly from: number
  readonly to: number
  /** Decoded bytes as latin1, from the character at `from + skipped`. */
  readonly decoded: string
  readonly skipped: number
  encode(bytes: string): string
}

const BASE64 = /[A-Za-z0-9+/_-]{16,}(?:(?:\r?\n|\\n|\\r\\n)[A-Za-z0-9+/_-]{4,})*={0,2}/g
/** Finds base64 runs that decode to text. */
export function* findEncodedRuns(text: string): Generator<void, EncodedRun[]> {
  const runs: EncodedRun[] = []
  for (const { from, to } of yield* findInWindows(text, part => findMatches(part, BASE64, ''))) {
    for (const run of yield* findBase64Runs(text.slice(from, to), from)) runs.push(run)
    yield
  }
  return runs
}

/** Tries four start offsets, because a run may begin with characters outside the encoding. */
function* findBase64Runs(run: string, from: number): Generator<void, EncodedRun[]> {
  const plain = /[\n\\]/.test(run) ? run.replace(/\r?\n|\\r?\\?n/g, match => ' '.repeat(match.length)) : run
  const isForUrls = /[-_]/.test(run)
  const encode = (bytes: string): string => {
    const text = Buffer.from(bytes, 'latin1').toString(isForUrls ? 'base64url' : 'base64')
    return run.endsWith('=') || isForUrls ? text : text.replace(/=+$/, '')
  }
  const runs: EncodedRun[] = []
  for (const skipped of [0, 1, 2, 3]) {
    yield
    const decoded = Buffer.from(plain.slice(skipped), 'base64').toString('latin1')
    if (isMostlyText(decoded)) runs.push({ from, to: from + run.length, decoded, skipped, encode })
  }
  return runs
}

/** True if fewer than 1 in 50 bytes are control characters; random bytes have 1 in 9. */
function isMostlyText(bytes: string): boolean {
  const maxControls = bytes.length / 50
  let controls = 0
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes.charCodeAt(at)
    if ((code < 32 && code !== 9 && code !== 10 && code !== 13) || code === 127) controls++
    if (controls > maxControls) return false
  }
  return bytes.length > 0
}
