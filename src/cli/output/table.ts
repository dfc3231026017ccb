import { truncateText, stripEscapes } from '../../util/plain-text.ts'
import type { TerminalOutput } from './terminal.ts'

const COLUMN_GAP = '  '
const INDENT = '    '
/** The last column gets at least this width. */
export const MIN_LAST_WIDTH = 10

/** Formats aligned rows. On a terminal the last column is truncated to fit. */
export function formatTable(rows: readonly (readonly string[])[], output: TerminalOutput, indent = 0): string[] {
  const widths = measureColumns(rows)
  const lastWidth = Math.max(MIN_LAST_WIDTH, (output.width ?? Infinity) - indent - measureFixedColumns(rows))
  return rows.map(row => {
    const cells = row.slice(0, -1).map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - measureWidth(cell)))
    return `${' '.repeat(indent)}${[...cells, fitCell(row.at(-1) ?? '', lastWidth)].join(COLUMN_GAP)}`.trimEnd()
  })
}

/** Measures all columns but the last, with their gaps. */
export function measureFixedColumns(rows: readonly (readonly string[])[]): number {
  return measureColumns(rows)
    .slice(0, -1)
    .reduce((sum, width) => sum + width + COLUMN_GAP.length, 0)
}

function measureColumns(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  return Array.from({ length: columns }, (_, column) => Math.max(...rows.map(row => measureWidth(row[column] ?? ''))))
}

/** Wraps words to the terminal width, with continuation lines indented. */
export function wrapWords(label: string, words: readonly string[], { width = Infinity }: TerminalOutput): string[] {
  const lines: string[] = []
  const indent = ' '.repeat(INDENT.length)
  let line = label
  for (const word of words) {
    const next = `${line} ${word}`
    if (line.trim() === '' || measureWidth(next) <= width) line = next
    else {
      lines.push(line)
      line = `${indent.slice(1)} ${word}`
    }
  }
  return [...lines, line]
}

/** Disables truncation, for tables whose last column matters. */
export function withoutWidth(output: TerminalOutput): TerminalOutput {
  return { ...output, width: undefined }
}

function measureWidth(cell: string): number {
  return stripEscapes(cell).length
}

// Truncating removes the colors of a cell.
function fitCell(cell: string, width: number): string {
  return measureWidth(cell) <= width ? cell : truncateText(stripEscapes(cell), width)
}
