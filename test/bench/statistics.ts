import type { Measured } from './load/messages.ts'

/** The middle one, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}

/** Rounds of one measurement as one: the median of each figure. */
export function medians(rounds: readonly Measured[]): Measured {
  const of = (pick: (round: Measured) => number | undefined): number | undefined => {
    const values = rounds.map(pick).filter(value => value !== undefined)
    return values.length === 0 ? undefined : median(values)
  }
  const calls = rounds.reduce((sum, round) => sum + round.calls, 0)
  const always = (pick: (round: Measured) => number): number => of(pick) ?? Number.NaN
  return {
    calls,
    rps: always(({ rps }) => rps),
    p50: always(({ p50 }) => p50),
    p95: always(({ p95 }) => p95),
    p99: always(({ p99 }) => p99),
    cpu: of(({ cpu }) => cpu),
    rss: of(({ rss }) => rss),
  }
}

/** Slope of the line with the least squares: the growth of y with each unit of x. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean(([at]) => at), mean(([, value]) => value)]
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0)
  return points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread
}
