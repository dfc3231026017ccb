import { LineCounter, parseDocument } from 'yaml'
import type { Document, YAMLParseError } from 'yaml'
import { treeOfNode } from './nodes.ts'
import { tooDeepAt } from './nesting.ts'
import { problemAt } from './problem.ts'
import type { ReportProblem } from './problem.ts'
import { DEEPEST } from './tree.ts'
import type { Origin, Tree } from './tree.ts'

const MOST_SYNTAX_ERRORS = 10

/** Gives an offset in a text its place. */
export type Place = (offset: number) => Origin

/** Parses YAML (and so JSON); undefined after reporting why it could not. */
export function parseYaml(text: string, file: string, report: ReportProblem): Tree | undefined {
  const lines = new LineCounter()
  const place: Place = offset => {
    const { line, col } = lines.linePos(Math.min(offset, text.length))
    return { from: 'file', file, line: Math.max(line, 1), col: Math.max(col, 1) }
  }
  const refuse = (offset: number, message: string, hint?: string) =>
    report(problemAt(place(offset), { pointer: '', message, hint }))

  const deep = tooDeepAt(text)
  if (deep !== undefined) {
    countLines(text.slice(0, deep), lines)
    refuse(deep, `nested deeper than ${DEEPEST} levels`)
    return undefined
  }
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    merge: true,
    stringKeys: false,
    logLevel: 'silent',
  })
  for (const error of mistakes(document)) refuse(error.pos[0], error.message, adviceFor(error))
  if (mistakes(document).length > 0) return undefined
  return treeOfNode(document.contents, place, refuse)
}

function mistakes(document: Document): YAMLParseError[] {
  return [...document.errors, ...(document.warnings as unknown as YAMLParseError[])].slice(0, MOST_SYNTAX_ERRORS)
}

function adviceFor(error: YAMLParseError): string | undefined {
  if (error.code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (error.code === 'MULTIPLE_DOCS') return 'put everything into one document, without "---" in between'
  return error.code === 'BLOCK_AS_IMPLICIT_KEY' ? 'put a value that contains ": " into quotes' : undefined
}

function countLines(text: string, lines: LineCounter): void {
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
}

