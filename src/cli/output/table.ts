import { shortened, withoutSequences } from '../../util/plain-text.ts'
import type { Output } from './terminal.ts'

const GAP = '  '
const BELOW = '    '
/** Least width of the last column; with less it goes to a line of its own. */
const MIN_LAST_WIDTH = 24

/** Rows as aligned lines. On a terminal the last column is cut to what fits; elsewhere nothing is. */
export function table(rows: readonly (readonly string[])[], output: Output, indent = 0): string[] {
  const space = ' '.repeat(indent)
  const widths = columnWidths(rows)
  const left = indent + widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0)
  const room = (output.width ?? Infinity) - left
  const stacked = room < Math.min(MIN_LAST_WIDTH, widths.at(-1) ?? 0)
  const padded = (row: readonly string[]): string[] =>
    row.slice(0, -1).map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - measureWidth(cell)))
  if (!stacked)
    return rows.map(row => `${space}${[...padded(row), fitted(row.at(-1) ?? '', room)].join(GAP)}`.trimEnd())
  return rows.flatMap(row => {
    const first = left - GAP.length > (output.width ?? Infinity) ? row.slice(0, -1) : padded(row)
    const below = fitted(row.at(-1) ?? '', (output.width ?? Infinity) - indent - BELOW.length)
    return [`${space}${first.join(GAP)}`.trimEnd(), ...(below === '' ? [] : [`${space}${BELOW}${below}`])]
  })
}

/** Words on lines of a terminal's width, all but the first below the end of the label; elsewhere on one line. */
export function wrapped(label: string, words: readonly string[], { width = Infinity }: Output): string[] {
  const lines: string[] = []
  const indent = ' '.repeat(BELOW.length)
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

/** The same output, but nothing is cut for it: what matters to its end is left to the terminal to wrap. */
export function uncut(output: Output): Output {
  return { ...output, width: undefined }
}

/** Width of all columns but the last. */
export function fixedWidth(rows: readonly (readonly string[])[]): number {
  const widths = columnWidths(rows).slice(0, -1)
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length)
}

function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map(row => measureWidth(row[column] ?? ''))),
  )
}

function measureWidth(cell: string): number {
  return withoutSequences(cell).length
}

// A painted cell cannot be cut without cutting its colours.
function fitted(cell: string, room: number): string {
  return measureWidth(cell) <= room ? cell : shortened(withoutSequences(cell), room)
}
