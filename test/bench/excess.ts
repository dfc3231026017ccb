import { measuredOf, type WorkResult } from './measure.ts'

/** One ratio of processor time to the raw yardstick, beside what is usual. */
export interface Excess {
  readonly title: string
  readonly ratio: number
  readonly usual: number
  readonly limit: number
  readonly isOver: boolean
}

const LABELS = ['gateway, 0 plugins', 'gateway, all plugins']
/** A few short rounds of a code that has just been started may read twice as dear; four times is somebody's doing. */
const TOLERANCE = 4

/** Everything that both results have. */
export function excessesOf(
  now: readonly WorkResult[],
  usually: readonly WorkResult[],
  flights: number,
): readonly Excess[] {
  return now.flatMap(({ key, title }) =>
    LABELS.flatMap(label => {
      const [ratio, usual] = [now, usually].map(works => ratioOf(works, key, flights, label))
      if (ratio === undefined || usual === undefined) return []
      const limit = usual * TOLERANCE
      return [{ title: `${title}, ${label}`, ratio, usual, limit, isOver: ratio > limit }]
    }),
  )
}

/** The lower ratio of two tries. */
export function betterOf(now: readonly Excess[], before: readonly Excess[]): readonly Excess[] {
  return now.map(excess => {
    const earlier = before.find(({ title }) => title === excess.title)
    return earlier !== undefined && earlier.ratio < excess.ratio ? earlier : excess
  })
}

function ratioOf(
  works: readonly WorkResult[],
  key: string,
  flights: number,
  label: string,
): number | undefined {
  const [own, raw] = [label, 'raw'].map(name => measuredOf(works, key, flights, name)?.cpu)
  return own === undefined || raw === undefined ? undefined : own / raw
}
