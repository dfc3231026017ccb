/** Makers of what takes the place of the parts of a JSON text. */
interface Parts {
  string(text: string): string
  name(text: string): string
  /** Gets a number as it is written. */
  number(text: string): string
}

/** Names of members that steer the protocol: what they hold is sealed or chosen by machines, and must come back as it is. */
const STEERING: ReadonlySet<string> = new Set([
  'requestState',
  'nextCursor',
  'taskId',
  'resultType',
  'progressToken',
])

const NUMBER = /-?\d[\d.eE+-]*/g

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
export function withStrings(json: string, parts: Parts): string {
  const rewriting = new Rewriting(json)
  let depth = 0
  let name = ''
  for (let at = 0; ;) {
    const start = json.indexOf('"', at)
    const gap = json.slice(at, start < 0 ? json.length : start)
    depth += depthOf(gap)
    for (const { 0: number, index } of gap.matchAll(NUMBER))
      rewriting.put(at + index, at + index + number.length, number, parts.number(number))
    if (start < 0) return rewriting.done()
    const end = endOfString(json, start + 1)
    const text = stringIn(json.slice(start + 1, end))
    if (/^\s*:/.test(json.slice(end + 1, end + 16))) {
      name = text
      rewriting.putString(start, end + 1, text, parts.name(text))
    } else if (depth > 1 || !STEERING.has(name)) rewriting.putString(start, end + 1, text, parts.string(text))
    at = end + 1
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

function depthOf(gap: string): number {
  let depth = 0
  for (const letter of gap) {
    if (letter === '{' || letter === '[') depth++
    else if (letter === '}' || letter === ']') depth--
  }
  return depth
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
