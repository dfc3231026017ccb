/** BENCHMARKS.md, written from what was kept and from notes.md. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { benchFile } from '../setup/children.ts'
import { plotsOf } from './growth-plots.ts'
import { notesIn, type Notes } from './notes.ts'
import { machineLines } from './print.ts'
import { kept, type Result } from './result.ts'
import {
  aloneTable,
  callTables,
  memoryRows,
  peersTable,
  profileSections,
  roadRows,
  soakTable,
  startRows,
} from './sections.ts'
import type { SoakResult } from '../soak.ts'
import { reachedBy, type Reached } from '../targets.ts'
import { markdown } from './table.ts'

const FILE = '../../BENCHMARKS.md'

/** Writes it and its plots; returns what to say of that. */
export async function writeReport(): Promise<string> {
  const result = kept<Result>('latest')
  if (result === undefined) return 'nothing was kept yet: run "npm run bench -- --full"'
  const soak = kept<SoakResult>('soak')
  const notes = notesIn(readFileSync(benchFile('notes.md'), 'utf8'))
  const plots = plotsOf(result.works)
  mkdirSync(benchFile('results'), { recursive: true })
  for (const [name, svg] of plots) writeFileSync(benchFile(`results/${name}.svg`), svg)
  const text = reportOf(result, soak, notes, [...plots.keys()])
  const style = (await resolveConfig(benchFile(FILE))) ?? {}
  writeFileSync(benchFile(FILE), await format(text, { ...style, parser: 'markdown' }))
  return `BENCHMARKS.md and ${plots.size} plots are written`
}

/** The text, before it is made tidy. */
export function reportOf(
  result: Result,
  soak: SoakResult | undefined,
  notes: Notes,
  plots: readonly string[],
): string {
  const section = (title: string, note: string, ...tables: readonly string[]): string =>
    tables.join('') === '' ? '' : [`## ${title}`, note, ...tables].filter(part => part !== '').join('\n\n')
  const parts = [
    '# Benchmarks',
    '<!-- Written by `npm run bench -- --write` from test/bench/results and test/bench/notes.md: edit those. -->',
    notes.of('about'),
    machineLines(result)
      .map(line => `- ${line}`)
      .join('\n'),
    ...result.remarks.map(remark => `- ${remark}`),
    section('What it must reach', notes.of('targets'), targetTable(reachedBy(result, soak), notes)),
    section('Beside other gateways', notes.of('peers'), peersTable(result)),
    section('Where each microsecond goes', notes.of('profiles'), ...profileSections(result, notes)),
    section(
      'How it grows',
      notes.of('growth'),
      plots.map(name => `![${name}](test/bench/results/${name}.svg)`).join('\n'),
    ),
    section('Each plugin alone', notes.of('alone'), aloneTable(result)),
    section('Start-up', notes.of('start-up'), startRows(result)),
    section('Memory', notes.of('memory'), memoryRows(result), soakTable(soak)),
    section('Without any I/O', notes.of('road'), roadRows(result)),
    section('Every call', notes.of('calls'), ...callTables(result)),
    section('Tools that are found', '', notes.of('surface')),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function targetTable(rows: readonly Reached[], notes: Notes): string {
  const cells = rows.map(row => {
    const figures = row.figures.map(({ what, value, isMet }) => `${what} ${isMet ? value : `**${value}**`}`)
    return [row.work, row.limit, figures.join('<br>'), verdictOf(row, notes)]
  })
  return markdown(['work', 'at most', 'measured', 'met'], cells)
}

function verdictOf({ key, figures }: Reached, notes: Notes): string {
  if (figures.length === 0) return 'not measured in this run'
  if (figures.every(({ isMet }) => isMet)) return 'met'
  const why = notes.of(`why ${key}`).replace(/\n+/g, ' ')
  return why === '' ? '**not met**' : `**not met**: ${why}`
}
