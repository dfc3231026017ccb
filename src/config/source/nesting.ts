import { Lexer, Parser, type CST } from 'yaml'
import { DEEPEST } from './tree.ts'

/** Far more than a file of the most values has; each costs the parser microseconds. */
const MOST_TOKENS = 250_000

const INVISIBLE = new Set(['\u{FEFF}', '\u{02}', '\u{18}', '\u{1f}'])
const OPENS = new Set(['[', '{'])
const CLOSES = new Set([']', '}'])

/** Reason why a YAML text is unfit for parsing, and its offset. */
interface Unfit {
  readonly offset: number
  readonly message: string
}

/** Parses a text as far as its syntax goes, unless there is nesting no one writes by hand, or endless text, for the next step to recurse into. */
export function readSyntax(text: string, newLine: (offset: number) => void): CST.Token[] | Unfit {
  const parser = new Parser(newLine)
  const levels = new Levels()
  const found: CST.Token[] = []
  let offset = 0
  let tokens = 0
  newLine(0)
  for (const token of new Lexer().lex(text)) {
    if (!INVISIBLE.has(token)) {
      if (levels.after(token) > DEEPEST + 1)
        return { offset, message: `nested deeper than ${DEEPEST} levels` }
      if (++tokens > MOST_TOKENS) return { offset, message: 'too much of everything for a configuration' }
      offset += token.length
    }
    for (const syntax of parser.next(token)) found.push(syntax)
  }
  found.push(...parser.end())
  return found
}

/** Counts open brackets, and outside of them the columns that something is indented by. */
class Levels {
  readonly #columns: number[] = []
  #brackets = 0
  #column = 0

  after(token: string): number {
    if (OPENS.has(token)) this.#brackets++
    else if (CLOSES.has(token)) this.#brackets--
    else if (this.#brackets <= 0 && takesLevel(token)) this.#indent()
    const newline = token.lastIndexOf('\n')
    this.#column = newline < 0 ? this.#column + token.length : token.length - newline - 1
    return this.#columns.length + this.#brackets
  }

  #indent(): void {
    while ((this.#columns.at(-1) ?? -1) >= this.#column) this.#columns.pop()
    this.#columns.push(this.#column)
  }
}

/** Whitespace, comments, anchors and tags take no level of their own. */
function takesLevel(token: string): boolean {
  return !/^[\s#&!]/.test(token)
}
