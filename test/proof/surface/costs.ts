import { searched } from '../../../plugins/surface/answers.ts'
import { ToolIndex } from '../../../plugins/surface/search/ranking.ts'
import { type Listed, listTokens } from '../../../plugins/surface/shown.ts'
import { collectGarbage, tokensIn, type CatalogEntry } from '../../../src/plugin.ts'
import { liveTasks } from '../../fixtures/live-mcp-tool/index.ts'
import { undisturbed } from '../../bench/alone/cost.ts'
import { atMost, share, time, type Figure } from './figures.ts'
import { liveEntries, shownIn } from './tools.ts'

const TIMES = 25
/** Times that each query is searched for; the fastest counts, as all else is the machine. */
const TURNS = 5

/** Tokens of lists and answers, and processor time of searches and of the index. */
export async function costs(): Promise<Figure[]> {
  const entries = liveEntries()
  const full = listTokens(entries)
  const search = shownIn(entries, 'search')
  const compact = shownIn(entries, 'compact')
  const answers = await answersOf(search)
  const mean = answers.reduce((all, one) => all + one, 0) / answers.length
  const saved = (searches: number): number => 1 - (search.tokens + searches * mean) / full
  const thousand = [...entries, ...entries].slice(0, 1000)
  return [
    { what: `${entries.length} tools in full`, value: String(full), unit: 'tokens', isMet: true },
    { what: '… compact', value: String(compact.tokens), unit: 'tokens', isMet: true },
    atMost('… in search mode', search.tokens, 1500, 'tokens'),
    atMost(`answer of a search, the longest of ${answers.length}`, Math.max(...answers), 700, 'tokens'),
    { what: '… on average', value: mean.toFixed(0), unit: 'tokens', isMet: true },
    share('saved after 3 searches', saved(3), 0.95),
    share('saved after 100 searches', saved(100), 0),
    ...times(thousand),
  ]
}

async function answersOf({ surface }: Listed): Promise<number[]> {
  const queries = liveTasks().flatMap(({ steps }) => steps)
  return Promise.all(
    queries.map(async query => {
      const answer = await searched(surface, { query }, () => Promise.resolve(undefined))
      return 'result' in answer ? tokensIn(answer.result.bytes().length) : Infinity
    }),
  )
}

/** Processor time, of what was disturbed least: other work on the machine says nothing about ours. */
function times(entries: readonly CatalogEntry[]): Figure[] {
  const builds = Array.from({ length: TIMES }, () => millisecondsOf(() => new ToolIndex(entries)).ms)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const { made: index } = millisecondsOf(() => new ToolIndex(entries))
  collectGarbage()
  const size = (process.memoryUsage().heapUsed - before) / 1024 / 1024
  const queries = liveTasks().flatMap(({ steps, question }) => [...steps, question])
  for (const query of queries) index.search(query, 10)
  const searches = queries.map(query =>
    Math.min(...Array.from({ length: TURNS }, () => millisecondsOf(() => index.search(query, 10)).ms)),
  )
  return [
    time(`index of 1,000 tools, the least disturbed of ${TIMES}`, undisturbed(builds), 40),
    {
      what: '… the first one, before it is compiled',
      value: (builds[0] ?? 0).toFixed(0),
      unit: 'ms',
      isMet: true,
    },
    atMost('… its memory', size, 6, 'MiB'),
    time('search among 1,000 tools, median', quantile(searches, 0.5), 3),
    time('… 99 of 100 are faster than', quantile(searches, 0.99), 3),
  ]
}

function millisecondsOf<T>(work: () => T): { readonly ms: number; readonly made: T } {
  const before = process.cpuUsage()
  const made = work()
  const { user, system } = process.cpuUsage(before)
  return { ms: (user + system) / 1000, made }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}
