import type { Load } from '../../api/gateway.ts'
import type { UpstreamStatus } from '../../api/index.ts'
import type { HealthFinding, Level } from '../../errors/health.ts'
import { formatBytes, toOneLine } from '../../util/plain-text.ts'
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
    [levelText(level, out), toOneLine(summary)],
    ['', out.paint('dim', toOneLine(`${code}: ${fix}`))],
  ])
  return rows.length === 0 ? [] : ['', ...table(rows, uncut(out))]
}

/** The eras that a server is spoken to in beside the one that it was found to speak. */
export function otherEras({ runtime }: Pick<UpstreamStatus, 'runtime'>): string[] {
  return [...new Set(runtime?.instances.flatMap(({ era }) => era ?? []))]
}

/** Load of a gateway, on one line: `heap 12 % · memory 3 % · loop 2 ms late · 0 B held`. */
export function loadText(
  { held, heap, memory, lagMs, shedding, refused = 0 }: Load,
  { paint }: Output,
): string {
  const parts = [
    heap === undefined ? undefined : `heap ${percent(heap)}`,
    memory === undefined ? undefined : `memory ${percent(memory)}`,
    lagMs === undefined ? undefined : `loop ${lagMs} ms late`,
    `${formatBytes(held)} held`,
    refused === 0 ? undefined : `${refused} refused`,
  ].filter(part => part !== undefined)
  const text = paint('dim', parts.join(' · '))
  if (shedding === 'refuse') return `${text} · ${paint('red', 'new requests are refused')}`
  if (shedding === 'close') return `${text} · ${paint('yellow', 'connections end with their answer')}`
  return text
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`
}
