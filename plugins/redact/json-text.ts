import { tryParseJson } from '../../src/plugin.ts'

/** Callbacks that replace parts of a JSON text. */
interface JsonRewriter {
  string(text: string): Generator<void, string>
  name(text: string): Generator<void, string>
  /** Receives the number as written. */
  number(text: string): string
  /** Member paths to leave unchanged, such as `task/taskId`. */
  readonly exemptPaths: ReadonlySet<string>
}

/** Status members and their protocol values, which are never redacted. */
const STATUS_PATH = /^(?:resultType|(?:tasks?\/)?status)$/
const STATUS_WORDS: ReadonlySet<string> = new Set([
  'complete',
  'input_required',
  'task',
  'working',
  'completed',
  'failed',
  'cancelled',
])

const BRACKET_OR_NUMBER = /[{}[\]]|-?\d[\d.eE+-]*/g

/** True if the text is a JSON object or array. */
export function isJsonText(text: string): boolean {
  const first = /^\s*([[{])/.exec(text)?.[1]
  if (first === undefined || !/[\]}]\s*$/.test(text.slice(-64))) return false
  return tryParseJson(text) !== undefined
}

/** Replaces strings, names and numbers in a JSON text; keeps everything else byte for byte. */
export function* rewriteJson(json: string, parts: JsonRewriter): Generator<void, string> {
  const rewriting = new TextRewriter(json)
  const path = new JsonPath()
  for (let at = 0; ;) {
    const start = json.indexOf('"', at)
    const gap = json.slice(at, start < 0 ? json.length : start)
    for (const { 0: token, index } of gap.matchAll(BRACKET_OR_NUMBER)) {
      if ('{['.includes(token)) path.enter(token)
      else if ('}]'.includes(token)) path.leave()
      else if (!parts.exemptPaths.has(path.toString())) {
        rewriting.replace(at + index, at + index + token.length, token, parts.number(token))
        yield
      }
    }
    if (start < 0) return rewriting.finish()
    const end = findStringEnd(json, start + 1)
    const text = decodeString(json.slice(start + 1, end))
    if (/^\s*:/.test(json.slice(end + 1, end + 16))) {
      path.setMember(text)
      rewriting.replaceString(start, end + 1, text, yield* parts.name(text))
    } else if (!isExemptValue(path.toString(), text, parts.exemptPaths))
      rewriting.replaceString(start, end + 1, text, yield* parts.string(text))
    at = end + 1
    yield
  }
}

function isExemptValue(path: string, text: string, exemptPaths: ReadonlySet<string>): boolean {
  return exemptPaths.has(path) || (STATUS_WORDS.has(text) && STATUS_PATH.test(path))
}

/** Deeper values have no path, so no exemption applies. */
const MAX_PATH_DEPTH = 4

/** Path to the current value; array items have the path of their array. */
class JsonPath {
  readonly #around: { readonly path: string; readonly isObject: boolean }[] = []
  #value = ''

  enter(bracket: string): void {
    this.#around.push({ path: this.#value, isObject: bracket === '{' })
  }

  leave(): void {
    this.#around.pop()
    this.#value = this.#around.at(-1)?.path ?? ''
  }

  setMember(name: string): void {
    const path = this.#around.at(-1)?.path ?? ''
    this.#value = this.#around.length > MAX_PATH_DEPTH ? '' : path === '' ? name : `${path}/${name}`
  }

  toString(): string {
    return this.#value
  }
}

/** Builds a changed text from left to right. */
class TextRewriter {
  readonly #text: string
  #changed = ''
  #done = 0

  constructor(text: string) {
    this.#text = text
  }

  replace(from: number, to: number, before: string, now: string): void {
    if (now === before) return
    this.#changed += this.#text.slice(this.#done, from) + now
    this.#done = to
  }

  replaceString(from: number, to: number, before: string, now: string): void {
    if (now !== before) this.replace(from, to, '', JSON.stringify(now))
  }

  finish(): string {
    return this.#done === 0 ? this.#text : this.#changed + this.#text.slice(this.#done)
  }
}

function decodeString(raw: string): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}

/** Finds the closing quote: one after an even number of backslashes. */
function findStringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end
    while (before > from && json.charAt(before - 1) === '\\') before--
    if ((end - before) % 2 === 0) return end
  }
  return json.length
}
