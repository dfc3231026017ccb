import { Lexer, LineCounter, parseDocument } from 'yaml'
import type { ErrorCode } from 'yaml'
import { treeOfNode } from './nodes.ts'
import { problemAt } from '../problem.ts'
import type { ReportProblem } from '../problem.ts'
import type { Origin, Tree } from './tree.ts'

const MAX_MISTAKES = 20
/** Bounds the time of parsing: far more than a file of the most values has. */
const MAX_TOKENS = 250_000

/** Characters that no YAML has; line ends and tabs are none of them. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_INDENT: 'indent the keys of a map alike, and close brackets',
  BLOCK_AS_IMPLICIT_KEY: 'put a value that contains ": " into quotes',
  MISSING_CHAR: 'close brackets and quotes, and write "key: value" with a blank',
  MULTILINE_IMPLICIT_KEY: 'write "key: value" with a blank',
  MULTIPLE_DOCS: 'put everything into one document, without "---" in between',
  RESOURCE_EXHAUSTION: 'it is nested too deep',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'put a value with "${…}", { } or [ ] in it into quotes',
}

/** Parses YAML (and so JSON); undefined after reporting why it could not. */
export function parseYaml(text: string, file: string, report: ReportProblem): Tree | undefined {
  const lineCounter = new LineCounter()
  const place = (offset: number): Origin => {
    const { line, col } = lineCounter.linePos(Math.min(offset, text.length))
    return { from: 'file', file, line: Math.max(line, 1), col: Math.max(col, 1) }
  }
  let refused = 0
  const refuse = (offset: number, message: string, hint?: string): void => {
    if (++refused <= MAX_MISTAKES) report(problemAt(place(offset), { pointer: '', message, hint }))
  }
  if (hasTooManyTokens(text)) return void refuse(0, 'too much of everything for a configuration')
  const options = { lineCounter, prettyErrors: false, uniqueKeys: false, merge: true, stringKeys: false }
  const document = parseDocument(text, options)
  const control = CONTROL.exec(text)
  if (control !== null)
    refuse(control.index, 'a control character cannot stand here', 'save the file as UTF-8 text')
  // The other errors mostly follow from the first one.
  const { errors, warnings } = document
  for (const { code, pos, message } of errors.length > 0 ? errors.slice(0, 1) : warnings)
    refuse(pos[0], message, HINTS[code])
  return refused > 0 ? undefined : treeOfNode(document.contents, place, refuse)
}

function hasTooManyTokens(text: string): boolean {
  const tokens = new Lexer().lex(text)
  for (let count = 0; tokens.next().done !== true; count++) if (count >= MAX_TOKENS) return true
  return false
}
