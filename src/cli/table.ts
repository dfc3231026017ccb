import { stripVTControlCharacters } from 'node:util'
import { shortened } from './plain-text.ts'
import type { Output } from './terminal.ts'

const GAP = '  '
/** Where the last column gets less than this, it goes to a line of its own. */
const LEAST_LAST = 24

/** Rows as aligned lines. On a terminal the last column is cut to what fits; elsewhere nothing is. */
export function table(rows: readonly (readonly string[])[], output: Output, indent = 0): string[] {
  const space = ' '.repeat(indent)
  const widths = columnWidths(rows)
  const left = indent + widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0)
  const room = (output.width ?? Infinity) - left
  const stacked = room < Math.min(LEAST_LAST, widths.at(-1) ?? 0)
  return rows.flatMap(row => {
    const last = row.at(-1) ?? ''
    const cells = row
      .slice(0, -1)
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
    if (!stacked) return [`${space}${[...cells, fitted(last, room)].join(GAP)}`.trimEnd()]
    const below = `${space}    ${fitted(last, (output.width ?? Infinity) - indent - 4)}`
    return [`${space}${cells.join(GAP)}`.trimEnd(), ...(last === '' ? [] : [below])]
  })
}

function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map(row => widthOf(row[column] ?? ''))),
  )
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}

// A painted cell cannot be cut without cutting its colours.
function fitted(cell: string, room: number): string {
  return widthOf(cell) <= room ? cell : shortened(stripVTControlCharacters(cell), room)
}
