import { usageOf } from '../../bench/load/usage.ts'
import type { Looker } from './lookers.ts'
import type { Traffic } from './traffic.ts'

const CALLS_OF_WINDOW = 400

/** Processor time of a call in microseconds, in two windows side by side. */
export interface Pair {
  readonly without: number
  readonly with: number
}

/** Middle of the differences of all pairs, as parts of the cost without a page, and how far they spread. */
export interface Difference {
  readonly middle: number
  /** Quarters of the pairs are below and above. */
  readonly quartiles: readonly [low: number, high: number]
  /** Bounds that hold the true middle nineteen times in twenty, whatever the differences look like. */
  readonly surely: readonly [low: number, high: number]
}

/**
 * Measures the gateway in many short windows, in turns with a page open and without. What else the machine does is in both
 * windows of a pair, and as pairs begin with the one and the other in turn, what grows or shrinks over time is in neither.
 */
export async function pairsOf(traffic: Traffic, looker: Looker, count: number): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let at = 0; at < count; at++) {
    const found = { with: 0, without: 0 }
    for (const which of at % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      await (which === 'with' ? looker.look() : looker.leave())
      found[which] = await windowOf(traffic)
    }
    pairs.push(found)
  }
  await looker.leave()
  return pairs
}

function windowOf({ gateway, call }: Traffic): Promise<number> {
  return each(gateway, CALLS_OF_WINDOW, call)
}

/** What the gateway does for each of so many, in microseconds. */
async function each(
  { child }: Traffic['gateway'],
  count: number,
  act: (count: number) => Promise<void>,
): Promise<number> {
  const micros = (): number => usageOf(child.pid ?? 0)?.micros ?? Number.NaN
  const before = micros()
  await act(count)
  return (micros() - before) / count
}

/** Times a second that a page asks at most, while calls come: an event a second, which costs no more than a question, and what is asked upon it. */
const ASKS_PER_SECOND = 2
/** A day in a minute. */
const CALLS_PER_SECOND = 100_000 / 60
const CALLS_OF_ROUND = 200
const ASKS_OF_ROUND = 60

/**
 * What the gateway does for a page that is open, as a part of what it does for the calls that come meanwhile: each by itself, side by
 * side, so that a busy machine makes both dearer. It does not say what a browser on the same machine takes from the gateway.
 */
export async function accountOf(traffic: Traffic, ask: () => Promise<void>, rounds: number): Promise<Pair[]> {
  const pairs: Pair[] = []
  const asks = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) await ask()
  }
  for (let round = 0; round < rounds; round++) {
    const without = (await each(traffic.gateway, CALLS_OF_ROUND, traffic.call)) * CALLS_PER_SECOND
    const own = (await each(traffic.gateway, ASKS_OF_ROUND, asks)) * ASKS_PER_SECOND
    pairs.push({ without, with: without + own })
  }
  return pairs
}

export function differenceOf(pairs: readonly Pair[]): Difference {
  const parts = pairs.map(({ without, with: seen }) => seen / without - 1).sort((a, b) => a - b)
  const at = (place: number): number => parts[Math.min(parts.length - 1, Math.max(0, Math.round(place)))] ?? 0
  const last = parts.length - 1
  // Ranks of the sign test: the normal approximation of a coin that is thrown once for each pair.
  const reach = (1.96 * Math.sqrt(parts.length)) / 2
  return {
    middle: at(last / 2),
    quartiles: [at(last / 4), at((3 * last) / 4)],
    surely: [at(last / 2 - reach), at(last / 2 + reach)],
  }
}
