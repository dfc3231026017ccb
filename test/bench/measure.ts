import type { Load } from './children.ts'
import type { Ask, Measured } from './load/messages.ts'
import { medians } from './statistics.ts'
import type { Lab } from './subjects.ts'
import type { Pins } from './pin.ts'
import type { Work } from './works.ts'
import type { Label, Subject } from './workshop.ts'

/** How long and how often everything is measured. */
export interface Pace {
  readonly rounds: number
  readonly ms: number
  /** No round is begun that would not end within this, but for the first. */
  readonly withinMs: number
  /** Before each measurement, and before the first of each, while code is being compiled. */
  readonly warmMs: number
  readonly firstWarmMs: number
  /** A first one lasts up to ten times as long for so many calls. */
  readonly firstWarmCalls: number
}

/** What came of one subject: figures, or why there are none. */
export type SubjectResult =
  { readonly label: Label; readonly measured: Measured } | { readonly label: Label; readonly failed: string }

/** What came of one work with so many requests in flight, for each subject. */
export interface WorkResult {
  readonly key: string
  readonly title: string
  readonly concurrency: number
  readonly subjects: readonly SubjectResult[]
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

/** What is wanted: works, each with so many requests in flight. */
export type Wanted = readonly { readonly work: Work; readonly flights: readonly number[] }[]

interface Row {
  readonly work: Work
  readonly concurrency: number
  readonly subjects: readonly Subject[]
  readonly rounds: Map<Label, Measured[]>
  readonly failures: Map<Label, string>
}

const RIVAL_FLIGHTS = 16
const HEAVY = 30

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
  for (let round = 0; round < bench.pace.rounds && hasTime(bench.pace, began, round); round++) {
    for (const row of rows) {
      bench.say(`round ${round + 1} of ${bench.pace.rounds}: ${row.work.title}, ${row.concurrency} at once`)
      await measureRow(row, bench, round)
    }
  }
  return rows.map(resultOf)
}

/** On a slow or busy machine there are fewer rounds. */
function hasTime({ withinMs }: Pace, began: number, done: number): boolean {
  const spent = performance.now() - began
  return done === 0 || spent + spent / done < withinMs
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
      // What others cannot do is a result too; once is enough.
      row.failures.set(subject.label, firstLine(error))
    }
  }
}

function measureOne(
  subject: Subject,
  { work, concurrency }: Row,
  bench: Bench,
  round: number,
): Promise<Measured> {
  const { target, pid } = subject
  bench.pins.subject(pid, work.cores)
  const ask = asSeenBy(subject, work.ask)
  const isBurst = work.isBurst === true
  const warm = round === 0 ? firstWarmth(bench.pace, work) : { warmMs: bench.pace.warmMs, warmCalls: 0 }
  return bench.load.measure({ target, ask, concurrency, isBurst, ...warm, ms: bench.pace.ms, pid })
}

function asSeenBy({ prefix }: Subject, ask: Ask): Ask {
  return ask.tool === undefined ? ask : { ...ask, tool: prefix + ask.tool }
}

function firstWarmth(
  { firstWarmMs, firstWarmCalls }: Pace,
  { isHeavy = false }: Work,
): { warmMs: number; warmCalls: number } {
  return { warmMs: firstWarmMs, warmCalls: isHeavy ? firstWarmCalls / HEAVY : firstWarmCalls }
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

/** The figures of one subject of a work; undefined where there are none. */
export function measuredOf(
  works: readonly WorkResult[],
  key: string,
  concurrency: number,
  label: Label,
): Measured | undefined {
  const work = works.find(result => result.key === key && result.concurrency === concurrency)
  const subject = work?.subjects.find(result => result.label === label)
  return subject !== undefined && 'measured' in subject ? subject.measured : undefined
}
