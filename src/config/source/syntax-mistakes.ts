import { Lexer, type ErrorCode, type YAMLParseError, type YAMLWarning } from 'yaml'

/** Mistake of a text in our words, where its author has to look. */
interface SyntaxMistake {
  readonly offset: number
  readonly message: string
  readonly hint?: string | undefined
}

type Mistake = YAMLParseError | YAMLWarning

/** Characters that no YAML has; line ends and tabs are none of them. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/
/** Token of the lexer for brackets that end without being closed. */
const BRACKETS_END = '\u{18}'
const CLOSES: Readonly<Record<string, string>> = { '{': '}', '[': ']' }
const OF_BRACKETS = /^Flow (map|sequence) in block collection/
/** After one of these the parser has lost the columns, and the next ones say nothing more to the reader. */
const LOSES: ReadonlySet<ErrorCode> = new Set(['BAD_INDENT', 'TAB_AS_INDENT', 'MULTILINE_IMPLICIT_KEY'])
const FOLLOWS: ReadonlySet<ErrorCode> = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
])

/** Reason why a text is none for YAML at all, before it is parsed. */
export function unfitText(text: string): SyntaxMistake | undefined {
  const control = CONTROL.exec(text)
  if (control !== null)
    return {
      offset: control.index,
      message: `the character ${nameOf(control[0])} cannot stand here`,
      hint: control[0] === '\0' ? 'save the file as UTF-8 text' : 'take it out: nobody sees it',
    }
  return text.includes('\r') && !text.includes('\n')
    ? {
        offset: 0,
        message: 'its lines end in CR alone',
        hint: 'save it with LF, or CRLF, at the ends of lines',
      }
    : undefined
}

/** Mistakes of a parsed text, without those that only follow from another one. */
export function mistakesIn(found: readonly Mistake[], text: string): SyntaxMistake[] {
  const told = withoutFollowers(found)
  const places = told.some(({ code }) => code === 'MISSING_CHAR' || code === 'BAD_INDENT')
    ? new OpenPlaces(text)
    : undefined
  return told.map(mistake => inOurWords(mistake, text, places))
}

function withoutFollowers(found: readonly Mistake[]): Mistake[] {
  // After the parser has lost its way, each following word is another mistake to it, and none to the reader.
  const lost = found.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  const slipped = found.findIndex(mistake => LOSES.has(mistake.code) && !isOfBrackets(mistake))
  return found.filter((mistake, index) => {
    if (mistake.code === 'UNEXPECTED_TOKEN') return index <= lost
    return slipped < 0 || index <= slipped || !FOLLOWS.has(mistake.code) || isOfBrackets(mistake)
  })
}

function inOurWords(mistake: Mistake, text: string, places: OpenPlaces | undefined): SyntaxMistake {
  const { code, message } = mistake
  const [from, to] = mistake.pos
  const open = isOfBrackets(mistake)
    ? places?.bracketBefore(from, message.includes('map') ? '{' : '[')
    : undefined
  if (open !== undefined) {
    const bracket = text.charAt(open)
    return {
      offset: open,
      message: `"${bracket}" is not closed`,
      hint: `a "${String(CLOSES[bracket])}" is missing`,
    }
  }
  const quote = message.startsWith('Missing closing') ? places?.quoteEndingAt(from) : undefined
  if (quote !== undefined)
    return { offset: quote, message: 'this quote is not closed', hint: `a ${text.charAt(quote)} is missing` }
  const tell = Object.hasOwn(TELL, code) ? TELL[code] : undefined
  return { offset: from, message, ...tell?.(text, from, to, message) }
}

type Told = Partial<SyntaxMistake>

const TELL: Readonly<
  Partial<Record<ErrorCode, (text: string, from: number, to: number, message: string) => Told>>
> = {
  TAG_RESOLVE_FAILED: (text, from, to) => ({
    message: `tag "${text.slice(from, to).slice(0, 40)}" is not supported`,
  }),
  MULTIPLE_DOCS: () => ({
    message: 'the file holds more than one document',
    hint: 'put everything into one document, without "---" in between',
  }),
  UNEXPECTED_TOKEN: (text, _, to, message) =>
    /\$\{?$/.test(text.slice(0, to))
      ? { hint: 'put "${…}" into quotes where it stands between { } or [ ]' }
      : /flow-(map|seq)-start/.test(message)
        ? { message: 'a bracket cannot stand here', hint: 'put a value with { } or [ ] in it into quotes' }
        : {},
  TAB_AS_INDENT: () => ({ hint: 'indent with spaces' }),
  BLOCK_AS_IMPLICIT_KEY: () => ({ hint: 'put a value that contains ": " into quotes' }),
  BAD_INDENT: (text, from, _, message) =>
    message.startsWith('All ')
      ? {
          message: `${lineAt(text, from)}begins at another column than those beside it`,
          hint: 'indent them alike',
        }
      : {},
  MULTILINE_IMPLICIT_KEY: withoutColon,
  MISSING_CHAR: (text, from, to, message) =>
    message.startsWith('Implicit map keys') ? withoutColon(text, from) : {},
}

function withoutColon(text: string, from: number): Told {
  const [line = ''] = /^[^\r\n]*/.exec(text.slice(from, from + 200)) ?? []
  const [, key, value] = /^([\w.-]+):(\S.*)$/.exec(line.trim()) ?? []
  return key === undefined
    ? { message: 'a ":" is missing behind the key', hint: 'write "key: value"' }
    : { message: 'a blank is missing behind the ":"', hint: `write "${key}: ${short(String(value))}"` }
}

/** `"command: node" `, as the place may be the line's beginning. */
function lineAt(text: string, from: number): string {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const [line = ''] = /^[^\r\n]*/.exec(text.slice(start, start + 200)) ?? []
  const key = /^[\s-]*([\w.-]+):/.exec(line)?.[1]
  return key === undefined ? 'this line ' : `"${short(key)}" `
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

function isOfBrackets({ message }: Mistake): boolean {
  return OF_BRACKETS.test(message)
}

function nameOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Places at which brackets and quotes begin that have no end. The parser names the place where it gave up. */
class OpenPlaces {
  readonly #brackets: number[] = []
  readonly #quotes = new Map<number, number>()
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    let offset = 0
    let open: number[] = []
    for (const token of new Lexer().lex(text)) {
      if (token === BRACKETS_END) {
        this.#brackets.push(...open)
        open = []
      }
      if (text.slice(offset, offset + token.length) !== token) continue
      if (token === '{' || token === '[') open.push(offset)
      else if (token === '}' || token === ']') open.pop()
      else if (token.startsWith('"') || token.startsWith("'")) this.#quotes.set(offset + token.length, offset)
      offset += token.length
    }
    this.#brackets.push(...open)
  }

  /** The last one of this kind before a place; each is named once. */
  bracketBefore(end: number, bracket: string): number | undefined {
    const at = this.#brackets.findLastIndex(one => one < end && this.#text.charAt(one) === bracket)
    return at < 0 ? undefined : this.#brackets.splice(at, 1)[0]
  }

  quoteEndingAt(end: number): number | undefined {
    return this.#quotes.get(end) ?? this.#quotes.get(end + 1)
  }
}
