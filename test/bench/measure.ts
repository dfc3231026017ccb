import type { Load } from './setup/children.ts'
import type { Ask, Measured } from './load/messages.ts'
import { medians } from './statistics.ts'
import type { Lab } from './subjects.ts'
import type { Pins } from './setup/pin.ts'
import type { Work } from './works.ts'
import type { Label, Subject } from './setup/workshop.ts'

/** Times and rounds of every measurement. */
export interface Pace {
  readonly rounds: number
  readonly ms: number
  /** No round is begun that would not end within this, but for the first. */
  readonly withinMs: number
  /** Before each measurement. */
  readonly warmMs: number
  /** Before the first of each work, and up to ten times as long for so many calls. */
  readonly firstWarmMs: number
  readonly firstWarmCalls: number
  /** The same before the first of each subject, while all its code is being compiled. */
  readonly subjectWarmMs: number
  readonly subjectWarmCalls: number
}

/** Outcome of one subject: figures, or why there are none. */
export type SubjectResult =
  { readonly label: Label; readonly measured: Measured } | { readonly label: Label; readonly failed: string }

/** Outcome of one work with so many requests in flight, for each subject. */
export interface WorkResult {
  readonly key: string
  readonly title: string
  readonly concurrency: number
  readonly subjects: readonly SubjectResult[]
}

/** All that measuring needs. */
export interface Bench {
  readonly lab: Lab
  readonly load: Load
  readonly pins: Pins
  readonly pace: Pace
  /** Those that have been kept busy for a while. */
  readonly warm: WeakSet<Subject>
  /** Tells of progress. */
  say(text: string): void
}

/** Works to measure, each with so many requests in flight. */
export type Wanted = readonly { readonly work: Work; readonly flights: readonly number[] }[]

interface Row {
  readonly work: Work
  readonly concurrency: number
  readonly subjects: readonly Subject[]
  readonly rounds: Map<Label, Measured[]>
  readonly failures: Map<Label, string>
}

const RIVAL_FLIGHTS = 16
const WARM_FLIGHTS = 16
const HEAVY_SHARE = 1 / 30

/** Measures all works in rounds, one subject after the other, so that a noisy minute hurts all alike. */
export async function measureWorks(works: Wanted, bench: Bench): Promise<readonly WorkResult[]> {
  const rows: Row[] = []
  for (const { work, flights } of works) {
    bench.say(`starting what does: ${work.title}`)
    const all = await bench.lab.subjects(work.wiring)
    for (const concurrency of flights) {
      const subjects = all.filter(subject => takesPart(subject, work, concurrency))
      rows.push({ work, concurrency, subjects, rounds: new Map(), failures: new Map() })
    }
  }
  const began = performance.now()
  const subjects = rows.reduce((sum, row) => sum + row.subjects.length, 0)
  for (let round = 0; round < bench.pace.rounds && hasTime(bench.pace, began, round, subjects); round++) {
    for (const row of rows) {
      bench.say(`round ${round + 1} of ${bench.pace.rounds}: ${row.work.title}, ${row.concurrency} at once`)
      await measureRow(row, bench, round)
    }
  }
  return rows.map(row => resultOf(row))
}

/** A round takes so much longer than what is measured in it: connections are opened, and the last calls are waited for. */
const AROUND = 1.5

/** On a slow or busy machine there are fewer rounds. The first is no measure of the next, as everything gets warm in it. */
function hasTime({ withinMs, ms, warmMs }: Pace, began: number, done: number, subjects: number): boolean {
  const next = subjects * (ms + warmMs) * AROUND
  return done === 0 || performance.now() - began + next < withinMs
}

function takesPart({ label, isRival = false }: Subject, work: Work, concurrency: number): boolean {
  const usual = work.concurrency.includes(RIVAL_FLIGHTS) ? RIVAL_FLIGHTS : work.concurrency[0]
  if (isRival) return work.hasRivals === true && concurrency === usual
  return !(work.lacksRaw === true && label.startsWith('raw'))
}

async function measureRow(row: Row, bench: Bench, round: number): Promise<void> {
  const shift = round % row.subjects.length
  for (const subject of [...row.subjects.slice(shift), ...row.subjects.slice(0, shift)]) {
    if (row.failures.has(subject.label)) continue
    try {
      const measured = await measureOne(subject, row, bench, round)
      row.rounds.set(subject.label, [...(row.rounds.get(subject.label) ?? []), measured])
    } catch (error) {
      // A failure of another gateway is a result too; once is enough.
      row.failures.set(subject.label, firstLine(error))
    }
  }
}

async function measureOne(
  subject: Subject,
  { work, concurrency }: Row,
  bench: Bench,
  round: number,
): Promise<Measured> {
  const { pace, load, pins } = bench
  const { target, pid } = subject
  pins.subject(pid)
  const cell = { target, ask: asSeenBy(subject, work.ask), pid }
  const share = work.isHeavy === true ? HEAVY_SHARE : 1
  if (!bench.warm.has(subject)) {
    const warmth = { warmMs: pace.subjectWarmMs, warmCalls: pace.subjectWarmCalls * share }
    await load.measure({ ...cell, concurrency: WARM_FLIGHTS, ...warmth, ms: 1 })
    bench.warm.add(subject)
  }
  const warmth =
    round === 0
      ? { warmMs: pace.firstWarmMs, warmCalls: pace.firstWarmCalls * share }
      : { warmMs: pace.warmMs, warmCalls: 0 }
  return load.measure({ ...cell, concurrency, ...warmth, ms: pace.ms })
}

function asSeenBy({ prefix }: Subject, ask: Ask): Ask {
  return ask.tool === undefined ? ask : { ...ask, tool: prefix + ask.tool }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return (text.split('\n').find(line => line.trim() !== '') ?? '').slice(0, 200)
}

function resultOf({ work, concurrency, subjects, rounds, failures }: Row): WorkResult {
  const results = subjects.map(({ label }): SubjectResult => {
    const failed = failures.get(label)
    return failed === undefined ? { label, measured: medians(rounds.get(label) ?? []) } : { label, failed }
  })
  return { key: work.key, title: work.title, concurrency, subjects: results }
}
