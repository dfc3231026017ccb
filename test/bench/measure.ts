import type { Load } from './children.ts'
import type { Measured } from './load/messages.ts'
import { medians } from './statistics.ts'
import type { Lab, Label, Subject } from './subjects.ts'
import type { Work } from './works.ts'

/** How long and how often everything is measured. */
export interface Pace {
  readonly rounds: number
  readonly ms: number
  /** Before each measurement, and before the first of each, while code is being compiled. */
  readonly warmMs: number
  readonly firstWarmMs: number
  /** A first one lasts up to four times as long for so many calls. */
  readonly firstWarmCalls: number
}

/** What came of one work with so many requests in flight, for each subject. */
export interface WorkResult {
  readonly key: string
  readonly title: string
  readonly concurrency: number
  readonly subjects: readonly { readonly label: Label; readonly measured: Measured }[]
}

interface Row {
  readonly work: Work
  readonly concurrency: number
  readonly subjects: readonly Subject[]
  readonly rounds: Map<Label, Measured[]>
}

/** Measures all works in rounds, one subject after the other, so that a noisy minute hurts all alike. */
export async function measureWorks(
  works: readonly { readonly work: Work; readonly flights: readonly number[] }[],
  lab: Lab,
  load: Load,
  pace: Pace,
  say: (text: string) => void,
): Promise<readonly WorkResult[]> {
  const rows: Row[] = []
  for (const { work, flights } of works) {
    const subjects = await lab.subjects(work.wiring)
    for (const concurrency of flights) rows.push({ work, concurrency, subjects, rounds: new Map() })
  }
  for (let round = 0; round < pace.rounds; round++) {
    for (const row of rows) {
      say(`round ${round + 1} of ${pace.rounds}: ${row.work.title}, ${row.concurrency} at once`)
      await measureRow(row, load, pace, round)
    }
  }
  return rows.map(resultOf)
}

async function measureRow(
  { work, concurrency, subjects, rounds }: Row,
  load: Load,
  pace: Pace,
  round: number,
): Promise<void> {
  const shift = round % subjects.length
  for (const { label, target, pid, prefix } of [...subjects.slice(shift), ...subjects.slice(0, shift)]) {
    const { tool } = work.ask
    const ask = tool === undefined ? work.ask : { ...work.ask, tool: prefix + tool }
    const warm =
      round === 0
        ? { warmMs: pace.firstWarmMs, warmCalls: pace.firstWarmCalls }
        : { warmMs: pace.warmMs, warmCalls: 0 }
    try {
      const measured = await load.measure({ target, ask, concurrency, ...warm, ms: pace.ms, pid })
      rounds.set(label, [...(rounds.get(label) ?? []), measured])
    } catch (cause) {
      throw new Error(`${work.title}, ${label}: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      })
    }
  }
}

function resultOf({ work, concurrency, subjects, rounds }: Row): WorkResult {
  const measured = subjects.map(({ label }) => ({ label, measured: medians(rounds.get(label) ?? []) }))
  return { key: work.key, title: work.title, concurrency, subjects: measured }
}
