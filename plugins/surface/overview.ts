import { bytesOf, type CatalogEntry } from '../../src/plugin.ts'
import { stemOf } from './search/words.ts'

/** Words of tool names that say what is done, and not with what. */
const VERBS = new Set(
  'get set list find search add create new make delete remove update edit write read open close run start stop check by for to of and from in the with all is mcp server tool tools api v1 v2 info data use do show view fetch load save send put post copy move'.split(
    ' ',
  ),
)
const MOST_WORDS = 10

/**
 * Summary of the tools behind a search, server by server: how many tools, and the words that tell them from others. The same text for the same
 * tools; it gives up words, then servers, to stay within `most` tokens.
 */
export function overview(entries: readonly CatalogEntry[], most: number): string {
  const servers = serversOf(entries)
  const bytes = bytesOf(most)
  const fits = (text: string): boolean => Buffer.byteLength(JSON.stringify(text)) <= bytes
  for (let words = MOST_WORDS; words >= 0; words--) {
    const text = lines(servers, words)
    if (fits(text)) return text
  }
  for (let shown = servers.length - 1; shown > 0; shown--) {
    const text = `${lines(servers.slice(0, shown), 0)}; and ${servers.length - shown} more servers`
    if (fits(text)) return text
  }
  return ''
}

interface Server {
  readonly name: string
  readonly count: number
  readonly words: readonly string[]
}

function lines(servers: readonly Server[], most: number): string {
  return servers
    .map(({ name, count, words }) => {
      const nouns = words.slice(0, most).join(', ')
      return `${name} (${count}${nouns === '' ? '' : `: ${nouns}`})`
    })
    .join('; ')
}

/** Servers by the number of their tools, the largest first. */
function serversOf(entries: readonly CatalogEntry[]): Server[] {
  const byServer = Map.groupBy(entries, ({ upstream }) => upstream)
  // Tools of the gateway itself are shown beside it.
  byServer.delete('')
  const counts = new Map([...byServer].map(([name, own]) => [name, wordCounts(own)]))
  const spread = new Map<string, number>()
  for (const words of counts.values())
    for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1)
  return [...byServer]
    .map(([name, own]) => ({ name, count: own.length, words: tellingWords(counts.get(name), spread, name) }))
    .sort((one, other) => other.count - one.count || compare(one.name, other.name))
}

function wordCounts(entries: readonly CatalogEntry[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { original } of entries)
    for (const word of new Set(nameWords(original))) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function nameWords(name: string): string[] {
  return name
    .split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u)
    .map(word => word.toLowerCase())
    .filter(word => word.length > 2 && !VERBS.has(word))
}

/** Words that many tools of this server have, and few other servers. */
function tellingWords(
  counts: ReadonlyMap<string, number> | undefined,
  spread: ReadonlyMap<string, number>,
  server: string,
): string[] {
  const own = new Set(nameWords(server))
  return [...(counts ?? [])]
    .filter(([word]) => !own.has(word))
    .map(([word, count]) => ({ word, weight: count / (spread.get(word) ?? 1) }))
    .sort((one, other) => other.weight - one.weight || compare(one.word, other.word))
    .filter(({ word }, index, all) => all.findIndex(one => stemOf(one.word) === stemOf(word)) === index)
    .map(({ word }) => word)
}

/** The same order on every machine. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
