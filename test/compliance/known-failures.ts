import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { matches } from './globs.ts'
import type { CellReport } from './verifies.ts'

/** Failures that are expected, and why. */
export interface KnownFailure {
  /** Glob over requirement ids. */
  readonly requirement: string
  /** Globs over cell names. */
  readonly cells: readonly string[]
  readonly because: string
  /** Says whether it fails only now and then, so that passing does not make it stale. */
  readonly sometimes?: boolean
}

/** Says whether everything is as expected, in words. */
export interface Verdict {
  readonly ok: boolean
  readonly text: string
  readonly known: readonly (KnownFailure & { readonly count: number })[]
}

interface Result {
  readonly id: string
  readonly cell: string
  readonly failed: boolean
}

/** Reads the list beside this file. */
export async function readKnownFailures(): Promise<KnownFailure[]> {
  const text = await readFile(new URL('known-failures.yml', import.meta.url), 'utf8')
  return (parse(text) as KnownFailure[] | null) ?? []
}

/** Compares what failed with what was expected; an entry that passes is stale. */
export function verdictOf(reports: readonly CellReport[], known: readonly KnownFailure[], isWhole: boolean): Verdict {
  const results = reports.flatMap(resultsOf)
  const covers = (entry: KnownFailure, { id, cell }: Result) =>
    matches(entry.requirement, id) && entry.cells.some(glob => matches(glob, cell))
  const unexpected = results.filter(result => result.failed && !known.some(entry => covers(entry, result)))
  const stale = known.flatMap(entry => {
    const met = results.filter(result => covers(entry, result))
    if (met.length === 0) return isWhole ? [`${entry.requirement} in ${entry.cells.join(' ')}: no such result`] : []
    if (entry.sometimes === true) return []
    return met.filter(({ failed }) => !failed).map(({ id, cell }) => `${id} in ${cell}: passes`)
  })
  const counted = known.map(entry => ({
    ...entry,
    count: results.filter(result => result.failed && covers(entry, result)).length,
  }))
  const lines = [
    ...unexpected.map(({ id, cell }) => `unexpected: ${id} in ${cell}`),
    ...stale.map(line => `stale: ${line}`),
  ]
  const ok = lines.length === 0
  return { ok, text: ok ? 'Everything is as expected.' : lines.join('\n'), known: counted }
}

function resultsOf({ name, outcomes }: CellReport): Result[] {
  return Object.entries(outcomes).flatMap(([id, { state }]) =>
    state === 'not applicable' ? [] : [{ id, cell: name, failed: state === 'failed' }],
  )
}
