import { Lexer } from 'yaml'
import { DEEPEST } from './tree.ts'

const INVISIBLE = new Set(['\u{FEFF}', '\u{02}', '\u{18}', '\u{1f}'])
const OPENS = new Set(['[', '{'])
const CLOSES = new Set([']', '}'])

/** Offset at which a YAML text is nested deeper than anyone writes by hand, before a parser recurses into it. */
export function tooDeepAt(text: string): number | undefined {
  const columns: number[] = []
  let flow = 0
  let offset = 0
  let column = 0
  for (const token of new Lexer().lex(text)) {
    if (INVISIBLE.has(token)) continue
    if (OPENS.has(token)) flow++
    else if (CLOSES.has(token)) flow--
    else if (flow <= 0 && nests(token)) indent(columns, column)
    if (columns.length + flow > DEEPEST + 1) return offset
    offset += token.length
    const newline = token.lastIndexOf('\n')
    column = newline < 0 ? column + token.length : token.length - newline - 1
  }
  return undefined
}

/** Whitespace, comments, anchors and tags take no level of their own. */
function nests(token: string): boolean {
  return !/^[\s#&!]/.test(token)
}

function indent(columns: number[], column: number): void {
  while ((columns.at(-1) ?? -1) >= column) columns.pop()
  columns.push(column)
}
