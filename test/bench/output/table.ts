import type { PluginCost } from '../alone/plugins-alone.ts'
import type { Measured } from '../load/messages.ts'
import type { SubjectResult, WorkResult } from '../measure.ts'
import type { MemoryResult } from '../memory.ts'
import type { StartResult } from '../start-up.ts'

/** Rows of text in columns; all but the first two are numbers. */
function columns(head: readonly string[], rows: readonly (readonly string[])[], left: number): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map(row => (row[column] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map(width => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

/** CPU comes first: the machine's noise disturbs it least. */
const HEAD = [
  'work, in flight',
  'through',
  'CPU µs',
  'req/s',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'RSS MB',
  'req/s ÷ direct',
  'CPU ÷ raw',
]

/** Every work with every subject, and how it compares to no gateway and to the yardstick. */
export function worksTable(results: readonly WorkResult[]): string {
  return columns(HEAD, results.flatMap(workRows), 2)
}

function workRows({ title, concurrency, subjects }: WorkResult): string[][] {
  return subjects.map((subject, index) => [
    index === 0 ? `${title}, ${concurrency}` : '',
    ...subjectCells(subject, subjects),
  ])
}

/** The columns of one subject, from its label on. */
export function subjectCells(subject: SubjectResult, all: readonly SubjectResult[]): string[] {
  if ('failed' in subject)
    return [subject.label, `failed: ${subject.failed.slice(0, 60)}`, ...Array<string>(8).fill('')]
  const [direct, raw] = ['direct', 'raw'].map(label => figuresOf(label, all))
  const { label, measured } = subject
  return [
    label,
    ...figures(measured),
    label === 'direct' ? '' : times(measured.rps, direct?.rps),
    label === 'direct' || label === 'raw' ? '' : times(measured.cpu, raw?.cpu),
  ]
}

function figuresOf(label: string, all: readonly SubjectResult[]): Measured | undefined {
  const subject = all.find(other => other.label === label)
  return subject !== undefined && 'measured' in subject ? subject.measured : undefined
}

function figures({ rps, p50, p95, p99, cpu, rss }: Measured): string[] {
  return [short(cpu), whole(rps), short(p50), short(p95), short(p99), whole(rss)]
}

export function whole(value: number | undefined): string {
  return value === undefined ? '–' : Math.round(value).toLocaleString('en')
}

/** Three digits are more than any of this is worth. */
export function short(value: number | undefined): string {
  if (value === undefined) return '–'
  return Math.abs(value) >= 100 ? whole(value) : value.toPrecision(3)
}

export function times(value: number | undefined, of: number | undefined): string {
  return value === undefined || of === undefined ? '–' : (value / of).toFixed(2)
}

/** The time that commands take from their start. */
export function startTable(results: readonly StartResult[]): string {
  const bare = results[0]?.median
  const rows = results.map(({ title, median, best }) => [title, short(median), short(best), times(median, bare)])
  return columns(['start-up', 'median ms', 'best ms', '÷ node -e 0'], rows, 1)
}

/** All that each plugin adds without any I/O. */
export function aloneInProcessTable(results: readonly PluginCost[]): string {
  return columns(
    ['in process, no I/O: µs more than 0 plugins', 'median', 'least'],
    results.map(({ label, more, least }) => [label, more.toFixed(1), least.toFixed(1)]),
    1,
  )
}

/** All that a gateway keeps in memory. */
export function memoryTable(results: readonly MemoryResult[]): string {
  return columns(
    ['resident memory', ''],
    results.map(({ title, unit, value }) => [title, `${short(value)} ${unit}`]),
    1,
  )
}
