import { randomBytes } from 'node:crypto'

/** Text that may hold a number which JavaScript would write as another one, such as 2^53+1 and 1e400. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/

/** Parts of the language that its types do not name yet. */
const Exact = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/** A string's opening quote, or a number. */
const QUOTE_OR_NUMBER = /"|-?\d[\d.eE+-]*/g
/** Values that are handled before others may have the event loop. */
export const VALUES_PER_STEP = 256

/** Reads JSON so that writing it gives every number as it was; undefined for text that is no JSON. */
export function* readJson(text: string): Generator<void, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    yield
    if (!INEXACT.test(text)) return value
    const mark = randomBytes(9).toString('base64url')
    const marked = yield* markNumbers(text, mark)
    return marked === undefined ? value : yield* restoreNumbers(JSON.parse(marked.text), mark, marked.numbers)
  } catch {
    return undefined
  }
}

/** True for a number that is kept as its text. */
export function isNumberText(value: unknown): boolean {
  return Exact.isRawJSON(value)
}

/** Puts a marked string in place of each number that JavaScript would write differently; undefined if there is none. */
function* markNumbers(
  text: string,
  mark: string,
): Generator<void, { readonly text: string; readonly numbers: readonly string[] } | undefined> {
  const pieces: string[] = []
  const numbers: string[] = []
  let done = 0
  let at = 0
  for (let count = 1; ; count++) {
    if (count % VALUES_PER_STEP === 0) yield
    QUOTE_OR_NUMBER.lastIndex = at
    const found = QUOTE_OR_NUMBER.exec(text)
    if (found === null) break
    const [token] = found
    at = token === '"' ? endOfString(text, found.index) : found.index + token.length
    if (token === '"' || String(Number(token)) === token) continue
    pieces.push(text.slice(done, found.index), `"${mark}${numbers.length}"`)
    numbers.push(token)
    done = at
  }
  return numbers.length === 0 ? undefined : { text: pieces.join('') + text.slice(done), numbers }
}

/** Index behind the closing quote of the string that begins at an index. */
function endOfString(text: string, begin: number): number {
  for (let quote = text.indexOf('"', begin + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return quote + 1
  }
  return text.length
}

function* restoreNumbers(value: unknown, mark: string, numbers: readonly string[]): Generator<void, unknown> {
  const root: Container = { value }
  const open = [root]
  let count = 0
  for (let parent = open.pop(); parent !== undefined; parent = open.pop())
    for (const key of Object.keys(parent)) {
      if (++count % VALUES_PER_STEP === 0) yield
      const inner = parent[key]
      if (typeof inner === 'object' && inner !== null) open.push(inner as Container)
      else if (typeof inner === 'string' && inner.startsWith(mark))
        parent[key] = Exact.rawJSON(numbers[Number(inner.slice(mark.length))] ?? '0')
    }
  return root.value
}

type Container = Record<string, unknown>
