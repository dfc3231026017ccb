import type { Load } from '../../api/gateway.ts'
import type { UpstreamStatus } from '../../api/index.ts'
import type { HealthFinding, HealthLevel } from '../../errors/health.ts'
import { formatBytes, toOneLine } from '../../util/plain-text.ts'
import { formatTable, withoutWidth } from './table.ts'
import type { TerminalOutput } from './terminal.ts'

const LEVEL_STYLES = { ok: 'green', info: 'dim', warning: 'yellow', error: 'red' } as const

export function formatLevel(level: HealthLevel, out: TerminalOutput): string {
  return out.paint(LEVEL_STYLES[level], level)
}

/** Formats findings with their fixes. Nothing is truncated. */
export function formatFindings(findings: readonly HealthFinding[], out: TerminalOutput): string[] {
  const rows = findings.flatMap(({ level, code, summary, fix }) => [
    [formatLevel(level, out), toOneLine(summary)],
    ['', out.paint('dim', toOneLine(`${code}: ${fix}`))],
  ])
  return rows.length === 0 ? [] : ['', ...formatTable(rows, withoutWidth(out))]
}

/** Lists protocol eras of connections in addition to the detected one. */
export function listOtherEras({ runtime }: Pick<UpstreamStatus, 'runtime'>): string[] {
  return [...new Set(runtime?.instances.flatMap(({ era }) => era ?? []))]
}

/** Formats load on one line: `heap 12 % · memory 3 % · event loop delay 2 ms · 0 B held`. */
export function formatLoad(
  { held, heap, memory, lagMs, shedding, refused = 0 }: Load,
  { paint }: TerminalOutput,
): string {
  const parts = [
    heap === undefined ? undefined : `heap ${formatPercent(heap)}`,
    memory === undefined ? undefined : `memory ${formatPercent(memory)}`,
    lagMs === undefined ? undefined : `event loop delay ${lagMs} ms`,
    `${formatBytes(held)} held`,
    refused === 0 ? undefined : `${refused} refused`,
  ].filter(part => part !== undefined)
  const text = paint('dim', parts.join(' · '))
  if (shedding === 'refuse') return `${text} · ${paint('red', 'overloaded, refusing new requests')}`
  if (shedding === 'close') return `${text} · ${paint('yellow', 'overloaded, closing connections after each response')}`
  return text
}

function formatPercent(part: number): string {
  return `${Math.round(100 * part)} %`
}
