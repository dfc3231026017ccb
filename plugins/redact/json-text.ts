/** Makers of what takes the place of the parts of a JSON text. */
interface Parts {
  string(text: string): Generator<void, string>
  name(text: string): Generator<void, string>
  /** Gets a number as it is written. */
  number(text: string): string
  /** Paths of members that stay as they are, such as `task/taskId`: what they hold is sealed or chosen by machines. */
  readonly keeps: ReadonlySet<string>
}

/** Members whose words say how the rest is read, and those words. */
const STATE = /^(?:resultType|(?:tasks?\/)?status)$/
const STATES: ReadonlySet<string> = new Set([
  'complete',
  'input_required',
  'task',
  'working',
  'completed',
  'failed',
  'cancelled',
])

const BRACKET_OR_NUMBER = /[{}[\]]|-?\d[\d.eE+-]*/g

/** Tells whether a text is JSON that holds others: an object or an array. */
export function isJsonText(text: string): boolean {
  const first = /^\s*([[{])/.exec(text)?.[1]
  if (first === undefined || !/[\]}]\s*$/.test(text.slice(-64))) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The same JSON with other strings, names and numbers; all else stays as it is written. */
export function* withStrings(json: string, parts: Parts): Generator<void, string> {
  const rewriting = new Rewriting(json)
  const path = new Path()
  for (let at = 0; ;) {
    const start = json.indexOf('"', at)
    const gap = json.slice(at, start < 0 ? json.length : start)
    for (const { 0: found, index } of gap.matchAll(BRACKET_OR_NUMBER)) {
      if ('{['.includes(found)) path.open(found)
      else if ('}]'.includes(found)) path.close()
      else if (!parts.keeps.has(path.toString())) {
        rewriting.put(at + index, at + index + found.length, found, parts.number(found))
        yield
      }
    }
    if (start < 0) return rewriting.done()
    const end = endOfString(json, start + 1)
    const text = stringIn(json.slice(start + 1, end))
    if (/^\s*:/.test(json.slice(end + 1, end + 16))) {
      path.member(text)
      rewriting.putString(start, end + 1, text, yield* parts.name(text))
    } else if (!isKept(path.toString(), text, parts.keeps))
      rewriting.putString(start, end + 1, text, yield* parts.string(text))
    at = end + 1
    yield
  }
}

function isKept(path: string, text: string, keeps: ReadonlySet<string>): boolean {
  return keeps.has(path) || (STATES.has(text) && STATE.test(path))
}

/** Deeper values have no path: none of them stays as it is. */
const MAX_PATH = 4

/** Names of the members around a value; items of an array have the path of the array. */
class Path {
  readonly #around: { readonly path: string; readonly isObject: boolean }[] = []
  #value = ''

  open(bracket: string): void {
    this.#around.push({ path: this.#value, isObject: bracket === '{' })
  }

  close(): void {
    this.#around.pop()
    this.#value = this.#around.at(-1)?.path ?? ''
  }

  member(name: string): void {
    const path = this.#around.at(-1)?.path ?? ''
    this.#value = this.#around.length > MAX_PATH ? '' : path === '' ? name : `${path}/${name}`
  }

  toString(): string {
    return this.#value
  }
}

/** A text on its way to another one, from its beginning on. */
class Rewriting {
  readonly #text: string
  #changed = ''
  #done = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Puts something in the place of a part, if that is something else. */
  put(from: number, to: number, before: string, now: string): void {
    if (now === before) return
    this.#changed += this.#text.slice(this.#done, from) + now
    this.#done = to
  }

  /** The same for a string, which is written as JSON. */
  putString(from: number, to: number, before: string, now: string): void {
    if (now !== before) this.put(from, to, '', JSON.stringify(now))
  }

  done(): string {
    return this.#done === 0 ? this.#text : this.#changed + this.#text.slice(this.#done)
  }
}

function stringIn(raw: string): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}

/** The place of the quote that ends a string: one that no backslash stands before, or an even number of them. */
function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end
    while (before > from && json.charAt(before - 1) === '\\') before--
    if ((end - before) % 2 === 0) return end
  }
  return json.length
}
