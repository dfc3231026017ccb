import { Composer, LineCounter, YAMLParseError } from 'yaml'
import type { CST, Document } from 'yaml'
import { treeOfNode } from './nodes.ts'
import { readSyntax } from './nesting.ts'
import { mistakesIn, unfitText } from './syntax-mistakes.ts'
import { problemAt } from '../problem.ts'
import type { ReportProblem } from '../problem.ts'
import type { Origin, Tree } from './tree.ts'

/** Reads a text; undefined after reporting why it cannot. */
export type ParseText = (text: string, file: string, report: ReportProblem) => Tree | undefined

/** More are no help to anyone. */
const MOST_MISTAKES = 20

/** Gives an offset in a text its place. */
type Place = (offset: number) => Origin

/** Parses YAML (and so JSON); undefined after reporting why it could not. */
export function parseYaml(text: string, file: string, report: ReportProblem): Tree | undefined {
  const lines = new LineCounter()
  const place: Place = offset => {
    const { line, col } = lines.linePos(Math.min(offset, text.length))
    return { from: 'file', file, line: Math.max(line, 1), col: Math.max(col, 1) }
  }
  let refused = 0
  const refuse = (offset: number, message: string, hint?: string) => {
    if (++refused <= MOST_MISTAKES) report(problemAt(place(offset), { pointer: '', message, hint }))
  }

  const unfit = unfitText(text)
  if (unfit !== undefined) {
    countLines(text.slice(0, unfit.offset), lines)
    return void refuse(unfit.offset, unfit.message, unfit.hint)
  }
  const syntax = readSyntax(text, lines.addNewLine)
  if (!Array.isArray(syntax)) {
    countLines(text.slice(0, syntax.offset), lines)
    return void refuse(syntax.offset, syntax.message)
  }
  const document = compose(syntax, text.length)
  for (const { offset, message, hint } of mistakesIn([...document.errors, ...document.warnings], text))
    refuse(offset, message, hint)
  if (refused > 0) return undefined
  return treeOfNode(document.contents, place, refuse)
}

/** The first document; that there is another is one of its mistakes. */
function compose(syntax: readonly CST.Token[], end: number): Document.Parsed {
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, merge: true, stringKeys: false })
  const [document, another] = composer.compose(syntax, true, end)
  if (document === undefined) throw new Error('a composer makes a document of anything')
  if (another !== undefined) {
    const [from, to] = another.range
    document.errors.push(new YAMLParseError([from, to], 'MULTIPLE_DOCS', 'another document'))
  }
  return document
}

function countLines(text: string, lines: LineCounter): void {
  lines.lineStarts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
}
