import { median } from '../statistics.ts'

/** Cost in microseconds of one thing over another, measured in the same rounds. */
export interface Cost {
  /** Median of the differences by round. */
  readonly more: number
  /** Difference of the rounds that others on the machine disturbed least. */
  readonly least: number
}

/** Part of the rounds that counts as undisturbed: one alone may be lucky. */
const QUIET = 1 / 5

/** The cost of what took `own` in each round, where nothing took `base`. */
export function costOver(base: readonly number[], own: readonly number[]): Cost {
  const differences = own.map((micros, round) => micros - (base[round] ?? Number.NaN))
  return { more: median(differences), least: undisturbed(own) - undisturbed(base) }
}

/** What it took in the rounds that others on the machine disturbed least. */
export function undisturbed(rounds: readonly number[]): number {
  const count = Math.max(1, Math.round(rounds.length * QUIET))
  return median(rounds.toSorted((a, b) => a - b).slice(0, count))
}
