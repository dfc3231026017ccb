import type { HealthFinding, Level } from '../../errors/health.ts'
import { oneLine } from '../../util/plain-text.ts'
import { table, uncut } from './table.ts'
import type { Output } from './terminal.ts'

const STYLES = { ok: 'green', info: 'dim', warning: 'yellow', error: 'red' } as const

/** A level as people see it. */
export function levelText(level: Level, out: Output): string {
  return out.paint(STYLES[level], level)
}

/** Findings as people read them, each with what to do below it. Nothing is cut: what matters may stand at the end. */
export function findingLines(findings: readonly HealthFinding[], out: Output): string[] {
  const rows = findings.flatMap(({ level, code, summary, fix }) => [
    [levelText(level, out), oneLine(summary)],
    ['', out.paint('dim', oneLine(`${code}: ${fix}`))],
  ])
  return rows.length === 0 ? [] : ['', ...table(rows, uncut(out))]
}
