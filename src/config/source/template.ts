/** A piece of a text with placeholders. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'variable'
      readonly name: string
      readonly operator: '' | ':-' | ':?'
      readonly rest: readonly Part[]
    }
  | SourcePart<'file'>
  | SourcePart<'exec'>
  | SourcePart<'keyring'>

/** A placeholder whose value is kept elsewhere: in a file, by a command, in a keyring. */
interface SourcePart<Kind> {
  readonly kind: Kind
  readonly inner: readonly Part[]
}

type Template = { readonly parts: readonly Part[] } | { readonly mistake: string }

const DEEPEST = 16
const SOURCES = ['file', 'exec', 'keyring'] as const
const VARIABLE = /(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-|:\?|(?=\}))/y

/** Takes a text apart at `${VAR}`, `${VAR:-default}`, `${VAR:?message}`, `${env:VAR}`, `${file:path}`, `${exec:command}` and `${keyring:name}`; `$${` is a plain `${`. */
export function parseTemplate(text: string): Template {
  try {
    return { parts: new TemplateReader(text).read(0) }
  } catch (thrown) {
    if (thrown instanceof Mistake) return { mistake: thrown.message }
    throw thrown
  }
}

class Mistake extends Error {}

class TemplateReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads to the end, or inside a placeholder to its closing brace. */
  read(depth: number): Part[] {
    if (depth > DEEPEST) throw new Mistake(`placeholders are nested deeper than ${DEEPEST} levels`)
    const parts: Part[] = []
    let literal = ''
    while (this.#at < this.#text.length && !(depth > 0 && this.#text[this.#at] === '}')) {
      if (this.#text.startsWith('$${', this.#at)) literal += this.#take('$${').slice(1)
      else if (this.#text.startsWith('${', this.#at)) {
        if (literal !== '') parts.push({ kind: 'text', text: literal })
        literal = ''
        parts.push(this.#placeholder(depth))
      } else literal += this.#text.charAt(this.#at++)
    }
    return literal === '' ? parts : [...parts, { kind: 'text', text: literal }]
  }

  #placeholder(depth: number): Part {
    const start = this.#at
    this.#take('${')
    const kind = SOURCES.find(source => this.#text.startsWith(`${source}:`, this.#at))
    const part = kind === undefined ? this.#variable(start, depth) : this.#source(kind, depth)
    if (this.#text[this.#at] !== '}') throw new Mistake(`${this.#shown(start)} is not closed`)
    this.#at++
    return part
  }

  #source(kind: (typeof SOURCES)[number], depth: number): Part {
    this.#take(`${kind}:`)
    return { kind, inner: this.read(depth + 1) }
  }

  #variable(start: number, depth: number): Part {
    VARIABLE.lastIndex = this.#at
    const found = VARIABLE.exec(this.#text)
    if (found === null) throw new Mistake(`cannot read ${this.#shown(start)}`)
    this.#at += found[0].length
    const [, name = '', operator] = found
    if (operator !== ':-' && operator !== ':?') return { kind: 'variable', name, operator: '', rest: [] }
    return { kind: 'variable', name, operator, rest: this.read(depth + 1) }
  }

  #take(expected: string): string {
    this.#at += expected.length
    return expected
  }

  #shown(start: number): string {
    const end = this.#text.indexOf('}', start)
    return this.#text.slice(start, end < 0 ? start + 40 : Math.min(end + 1, start + 40))
  }
}
