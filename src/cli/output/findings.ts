import type { Load } from '../../api/gateway.ts'
import type { UpstreamStatus } from '../../api/index.ts'
import type { HealthFinding, HealthLevel } from '../../errors/health.ts'
import { formatBytes, toOneLine } from '../../util/plain-text.ts'
import { formatTable, withoutWidth } from './table.ts'
import type { TerminalOutput } from './terminal.ts'

const LEVEL_STYLES = { ok: 'green', info: 'dim', warning: 'yellow', error: 'red' } as const

/** A level as people see it. */
export function formatLevel(level: HealthLevel, out: TerminalOutput): string {
  return out.paint(LEVEL_STYLES[level], level)
}

/** Findings as people read them, each with what to do below it. Nothing is cut: what matters may stand at the end. */
export function formatFindings(findings: readonly HealthFinding[], out: TerminalOutput): string[] {
  const rows = findings.flatMap(({ level, code, summary, fix }) => [
    [formatLevel(level, out), toOneLine(summary)],
    ['', out.paint('dim', toOneLine(`${code}: ${fix}`))],
  ])
  return rows.length === 0 ? [] : ['', ...formatTable(rows, withoutWidth(out))]
}

/** The eras that a server is spoken to in beside the one that it was found to speak. */
export function listOtherEras({ runtime }: Pick<UpstreamStatus, 'runtime'>): string[] {
  return [...new Set(runtime?.instances.flatMap(({ era }) => era ?? []))]
}

/** Load of a gateway, on one line: `heap 12 % · memory 3 % · loop 2 ms late · 0 B held`. */
export function formatLoad(
  { held, heap, memory, lagMs, shedding, refused = 0 }: Load,
  { paint }: TerminalOutput,
): string {
  const parts = [
    heap === undefined ? undefined : `heap ${formatPercent(heap)}`,
    memory === undefined ? undefined : `memory ${formatPercent(memory)}`,
    lagMs === undefined ? undefined : `loop ${lagMs} ms late`,
    `${formatBytes(held)} held`,
    refused === 0 ? undefined : `${refused} refused`,
  ].filter(part => part !== undefined)
  const text = paint('dim', parts.join(' · '))
  if (shedding === 'refuse') return `${text} · ${paint('red', 'new requests are refused')}`
  if (shedding === 'close') return `${text} · ${paint('yellow', 'connections end with their answer')}`
  return text
}

function formatPercent(part: number): string {
  return `${Math.round(100 * part)} %`
}
