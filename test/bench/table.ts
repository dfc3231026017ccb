import type { Measured } from './load/messages.ts'
import type { WorkResult } from './measure.ts'
import type { RoadResult } from './road.ts'
import type { StartResult } from './start-up.ts'

/** Rows of text in columns; all but the first two are numbers. */
function columns(head: readonly string[], rows: readonly (readonly string[])[], left: number): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map(row => (row[column] ?? '').length)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(head), widths.map(width => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

const HEAD = [
  'work, in flight',
  'through',
  'req/s',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'CPU µs',
  'RSS MB',
  'req/s ÷ direct',
  'CPU ÷ raw',
]

/** Every work with every subject, and how it compares to no gateway and to the yardstick. */
export function worksTable(results: readonly WorkResult[]): string {
  return columns(HEAD, results.flatMap(workRows), 2)
}

function workRows({ title, concurrency, subjects }: WorkResult): string[][] {
  const direct = subjects.find(({ label }) => label === 'direct')?.measured
  const raw = subjects.find(({ label }) => label === 'raw')?.measured
  return subjects.map(({ label, measured }, index) => [
    index === 0 ? `${title}, ${concurrency}` : '',
    label,
    ...figures(measured),
    label === 'direct' ? '' : times(measured.rps, direct?.rps),
    label === 'direct' || label === 'raw' ? '' : times(measured.cpu, raw?.cpu),
  ])
}

function figures({ rps, p50, p95, p99, cpu, rss }: Measured): string[] {
  return [whole(rps), short(p50), short(p95), short(p99), short(cpu), whole(rss)]
}

function whole(value: number | undefined): string {
  return value === undefined ? '–' : Math.round(value).toLocaleString('en')
}

/** Three digits are more than any of this is worth. */
function short(value: number | undefined): string {
  if (value === undefined) return '–'
  return value >= 100 ? whole(value) : value.toPrecision(3)
}

function times(value: number | undefined, of: number | undefined): string {
  return value === undefined || of === undefined ? '–' : (value / of).toFixed(2)
}

/** How long commands take from their start. */
export function startTable(results: readonly StartResult[]): string {
  const bare = results[0]?.median
  const rows = results.map(({ title, median, best }) => [
    title,
    short(median),
    short(best),
    times(median, bare),
  ])
  return columns(['start-up', 'median ms', 'best ms', '÷ node -e 0'], rows, 1)
}

/** What the road costs without any I/O. */
export function roadTable(results: readonly RoadResult[]): string {
  return columns(
    ['in process, no I/O', 'µs'],
    results.map(({ title, micros }) => [title, short(micros)]),
    1,
  )
}
