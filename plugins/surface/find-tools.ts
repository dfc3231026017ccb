import type { CatalogEntry, PluginApi } from '../../src/plugin.ts'
import type { Surface } from './shown.ts'
import type { Ranked } from './search/ranking.ts'

/** A search, checked. */
export interface Wanted {
  readonly query: string
  readonly server: string | undefined
  readonly limit: number
}

type Rank = PluginApi['rank']

/** Candidates that a `rank` tap is asked about. */
const CANDIDATES = 50
/** Softens the first places where two orders become one (reciprocal rank fusion). */
const SOFT = 60
/** Weight of the order of a tap, beside that of the words. */
const ASKED = 1.5

/** The tools that fit, the best first: as many as were asked for, and `more` behind them. */
export async function findTools(
  surface: Surface,
  { query, server, limit }: Wanted,
  rank: Rank,
  more = 0,
): Promise<readonly CatalogEntry[]> {
  const ranked = (await surface.index()).search(query, surface.entries.length)
  const fitting =
    server === undefined ? ranked : ranked.filter(({ entry }) => isSameName(entry.upstream, server))
  return (await reordered(fitting, query, rank)).slice(0, limit + more)
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.trim().toLowerCase()
}

async function reordered(ranked: readonly Ranked[], query: string, rank: Rank): Promise<CatalogEntry[]> {
  const entries = ranked.map(({ entry }) => entry)
  const candidates = entries.slice(0, CANDIDATES)
  const scores = candidates.length < 2 ? undefined : await rank(query, candidates)
  if (scores?.length !== candidates.length || !scores.every(Number.isFinite)) return entries
  const places = candidates.map((_, index) => index).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
  const fused = candidates.map((entry, index) => ({
    entry,
    score: 1 / (SOFT + index) + ASKED / (SOFT + places.indexOf(index)),
  }))
  fused.sort((one, other) => other.score - one.score)
  return [...fused.map(({ entry }) => entry), ...entries.slice(CANDIDATES)]
}
