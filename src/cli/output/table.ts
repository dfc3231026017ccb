import { truncateText, stripEscapes } from '../../util/plain-text.ts'
import type { TerminalOutput } from './terminal.ts'

const COLUMN_GAP = '  '
const INDENT = '    '
/** With less space, the last column moves to its own line. */
const MIN_LAST_WIDTH = 24

/** Formats aligned rows. On a terminal the last column is truncated to fit. */
export function formatTable(rows: readonly (readonly string[])[], output: TerminalOutput, indent = 0): string[] {
  const space = ' '.repeat(indent)
  const widths = measureColumns(rows)
  const fixedWidth = indent + widths.slice(0, -1).reduce((sum, width) => sum + width + COLUMN_GAP.length, 0)
  const availableWidth = (output.width ?? Infinity) - fixedWidth
  const stacked = availableWidth < Math.min(MIN_LAST_WIDTH, widths.at(-1) ?? 0)
  const padCells = (row: readonly string[]): string[] =>
    row.slice(0, -1).map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - measureWidth(cell)))
  if (!stacked)
    return rows.map(row =>
      `${space}${[...padCells(row), fitCell(row.at(-1) ?? '', availableWidth)].join(COLUMN_GAP)}`.trimEnd(),
    )
  return rows.flatMap(row => {
    const first = fixedWidth - COLUMN_GAP.length > (output.width ?? Infinity) ? row.slice(0, -1) : padCells(row)
    const below = fitCell(row.at(-1) ?? '', (output.width ?? Infinity) - indent - INDENT.length)
    return [`${space}${first.join(COLUMN_GAP)}`.trimEnd(), ...(below === '' ? [] : [`${space}${INDENT}${below}`])]
  })
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

/** Measures all columns but the last. */
export function measureFixedColumns(rows: readonly (readonly string[])[]): number {
  const widths = measureColumns(rows).slice(0, -1)
  return widths.reduce((sum, width) => sum + width + COLUMN_GAP.length, -COLUMN_GAP.length)
}

function measureColumns(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  return Array.from({ length: columns }, (_, column) => Math.max(...rows.map(row => measureWidth(row[column] ?? ''))))
}

function measureWidth(cell: string): number {
  return stripEscapes(cell).length
}

// Truncating removes the colors of a cell.
function fitCell(cell: string, width: number): string {
  return measureWidth(cell) <= width ? cell : truncateText(stripEscapes(cell), width)
}
