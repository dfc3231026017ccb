import { Composer, LineCounter, YAMLParseError } from 'yaml'
import type { CST, Document, YAMLWarning } from 'yaml'
import { treeOfNode } from './nodes.ts'
import { readSyntax } from './nesting.ts'
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

  const syntax = readSyntax(text, lines.addNewLine)
  if (!Array.isArray(syntax)) {
    countLines(text.slice(0, syntax.offset), lines)
    return void refuse(syntax.offset, syntax.message)
  }
  const document = compose(syntax, text.length)
  for (const error of mistakesIn(document))
    refuse(error.pos[0], messageOf(error, text), adviceFor(error, text))
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

function mistakesIn(document: Document): (YAMLParseError | YAMLWarning)[] {
  const { errors } = document
  // After the parser has lost its way, each following word is another mistake to it, and none to the reader.
  const lost = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  const told = errors.filter(({ code }, index) => index <= lost || code !== 'UNEXPECTED_TOKEN')
  return [...told, ...document.warnings]
}

function messageOf(error: YAMLParseError | YAMLWarning, text: string): string {
  if (error.code === 'TAG_RESOLVE_FAILED')
    return `tag "${text.slice(...error.pos).slice(0, 40)}" is not supported`
  return error.code === 'MULTIPLE_DOCS' ? 'the file holds more than one document' : error.message
}

function adviceFor(error: YAMLParseError | YAMLWarning, text: string): string | undefined {
  if (error.code === 'UNEXPECTED_TOKEN' && /\$\{?$/.test(text.slice(0, error.pos[1])))
    return 'put "${…}" into quotes where it stands between { } or [ ]'
  if (error.code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (error.code === 'MULTIPLE_DOCS') return 'put everything into one document, without "---" in between'
  return error.code === 'BLOCK_AS_IMPLICIT_KEY' ? 'put a value that contains ": " into quotes' : undefined
}

function countLines(text: string, lines: LineCounter): void {
  lines.lineStarts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
}
