import type { CatalogEntry, PluginApi } from '../../src/plugin.ts'
import type { Surface } from './shown.ts'
import type { Ranked } from './search/ranking.ts'
import { wordsOf } from './search/words.ts'

/** A search, checked. */
export interface Wanted {
  readonly query: string
  readonly server: string | undefined
  readonly limit: number
}

type Rank = PluginApi['rank']

/** Candidates that a `rank` tap is asked about. */
const CANDIDATES = 50
/** Tools of one server among the results, unless it was named. */
const OF_ONE_SERVER = 3
/** Softens the first places where two orders become one (reciprocal rank fusion). */
const SOFT = 60
/** Weight of the order of a tap, beside that of the words. */
const ASKED = 1.5

/** The tools that fit, the best first. */
export async function findTools(
  surface: Surface,
  wanted: Wanted,
  rank: Rank,
): Promise<readonly CatalogEntry[]> {
  const { query, server, limit } = wanted
  const named = serverNamed(surface, wanted)
  const ranked = (await surface.index()).search(query, surface.entries.length)
  const fitting = server === undefined ? ranked : ranked.filter(({ entry }) => entry.upstream === named)
  const ordered = await reordered(fitting, query, rank)
  return diverse(ordered, named, limit)
}

/** The server that a search is about: the one it names, or the one whose name is among its words. */
function serverNamed({ entries }: Surface, { query, server }: Wanted): string | undefined {
  const names = new Set(entries.map(({ upstream }) => upstream))
  if (server !== undefined) return [...names].find(name => isSameName(name, server)) ?? server
  const words = new Set(wordsOf(query))
  return [...names].find(name => {
    const own = wordsOf(name)
    return own.length > 0 && own.every(word => words.has(word))
  })
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

/** No server has all the places, where others have something that fits too. */
function diverse(ranked: readonly CatalogEntry[], named: string | undefined, limit: number): CatalogEntry[] {
  const counts = new Map<string, number>()
  const first: CatalogEntry[] = []
  const rest: CatalogEntry[] = []
  for (const entry of ranked) {
    const count = counts.get(entry.upstream) ?? 0
    const isFree = entry.upstream === named || count < OF_ONE_SERVER
    counts.set(entry.upstream, count + 1)
    ;(isFree ? first : rest).push(entry)
    if (first.length === limit) break
  }
  return [...first, ...rest].slice(0, limit)
}
