import { PARTS } from '../test/guard/layers.ts'

const BLOCK = /<!-- layers -->[\s\S]*?<!-- \/layers -->/

/** The document with the table of the parts that `test/architecture.test.ts` enforces, where it has a place for it. */
export function withLayers(document: string): string {
  return document.replace(BLOCK, () => `<!-- layers -->\n\n${table()}\n\n<!-- /layers -->`)
}

function table(): string {
  const rows = PARTS.map(({ path, holds, may }) => [
    `\`${folder(path)}\``,
    holds,
    may.length === 0 ? 'nothing of ours' : [...new Set(may)].join(', '),
  ])
  return aligned([['folder', 'what it holds', 'may import'], ...rows])
}

function folder({ source }: RegExp): string {
  return source
    .replace(/^\^|\$$|\\\/$/g, '')
    .replaceAll(/\\(.)/g, '$1')
    .replace('(gateway/|index.ts$)', 'gateway')
}

/** A table as the formatter writes it. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = [0, 1, 2].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`, ...body.map(line)].join(
    '\n',
  )
}
