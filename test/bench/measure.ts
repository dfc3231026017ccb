import type { Load } from './children.ts'
import type { Ask, Measured } from './load/messages.ts'
import { medians } from './statistics.ts'
import type { Lab, Label, Subject } from './subjects.ts'
import type { Pins } from './pin.ts'
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

/** What measuring needs. */
export interface Bench {
  readonly lab: Lab
  readonly load: Load
  readonly pins: Pins
  readonly pace: Pace
  /** Tells of progress. */
  say(text: string): void
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
  bench: Bench,
): Promise<readonly WorkResult[]> {
  const rows: Row[] = []
  for (const { work, flights } of works) {
    const subjects = await bench.lab.subjects(work.wiring)
    for (const concurrency of flights) rows.push({ work, concurrency, subjects, rounds: new Map() })
  }
  for (let round = 0; round < bench.pace.rounds; round++) {
    for (const row of rows) {
      bench.say(`round ${round + 1} of ${bench.pace.rounds}: ${row.work.title}, ${row.concurrency} at once`)
      await measureRow(row, bench, round)
    }
  }
  return rows.map(resultOf)
}

async function measureRow(
  { work, concurrency, subjects, rounds }: Row,
  bench: Bench,
  round: number,
): Promise<void> {
  const shift = round % subjects.length
  const warm = warmth(bench.pace, round)
  for (const subject of [...subjects.slice(shift), ...subjects.slice(0, shift)]) {
    const { label, target, pid } = subject
    bench.pins.subject(pid)
    try {
      const ask = asSeenBy(subject, work.ask)
      const measured = await bench.load.measure({ target, ask, concurrency, ...warm, ms: bench.pace.ms, pid })
      rounds.set(label, [...(rounds.get(label) ?? []), measured])
    } catch (cause) {
      throw new Error(`${work.title}, ${label}: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      })
    }
  }
}

function asSeenBy({ prefix }: Subject, ask: Ask): Ask {
  return ask.tool === undefined ? ask : { ...ask, tool: prefix + ask.tool }
}

function warmth(
  { warmMs, firstWarmMs, firstWarmCalls }: Pace,
  round: number,
): { warmMs: number; warmCalls: number } {
  return round === 0 ? { warmMs: firstWarmMs, warmCalls: firstWarmCalls } : { warmMs, warmCalls: 0 }
}

function resultOf({ work, concurrency, subjects, rounds }: Row): WorkResult {
  const measured = subjects.map(({ label }) => ({ label, measured: medians(rounds.get(label) ?? []) }))
  return { key: work.key, title: work.title, concurrency, subjects: measured }
}
