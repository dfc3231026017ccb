import assert from 'node:assert/strict'
import { test } from 'node:test'
import MiniSearch from 'minisearch'
import { toolText } from '../../../../plugins/surface/search/document.ts'
import { BM25, LONG, ToolIndex, WEIGHTS, type Field } from '../../../../plugins/surface/search/ranking.ts'
import { Vocabulary } from '../../../../plugins/surface/search/vocabulary.ts'
import { wordsOf } from '../../../../plugins/surface/search/words.ts'
import type { CatalogEntry } from '../../../../src/plugin.ts'
import { liveServers, liveTasks } from '../../../fixtures/live-mcp-tool/index.ts'

const LIVE: CatalogEntry[] = liveServers().flatMap(({ name, tools }) =>
  tools.map(value => ({
    kind: 'tools',
    upstream: name,
    original: value.name,
    exposed: `${name}__${value.name}`,
    value,
  })),
)

test('tools are found in the order, and with the scores, that a search library gives them', () => {
  const index = new ToolIndex(LIVE)
  const library = byLibrary(LIVE)
  const queries = liveTasks().flatMap(({ steps, question }) => [question, ...steps])
  const odd = [
    '',
    'the of and',
    'wikipeda',
    'chromagr',
    'delet fil',
    '必应搜索 天气',
    'x'.repeat(600),
    '__proto__',
  ]
  assert.ok(queries.length > 200)

  for (const query of [...queries, ...odd])
    assert.deepEqual(
      index.search(query, LIVE.length).map(({ entry, score }) => [entry.exposed, score]),
      library(query),
      query,
    )
})

test('tools that fit equally well stand in the order of the list, and only as many as are wanted are named', () => {
  const twins = Array.from({ length: 9 }, (_, at) => twin(`t${at}`))

  const found = new ToolIndex(twins).search('weather', 4).map(({ entry }) => entry.original)

  assert.deepEqual(found, ['t0', 't1', 't2', 't3'])
})

function twin(original: string): CatalogEntry {
  const value = { name: original, description: 'Says the weather.' }
  return { kind: 'tools', upstream: 'a', original, exposed: `a__x`, value }
}

/** The same search by MiniSearch, over the same terms. */
function byLibrary(entries: readonly CatalogEntry[]): (query: string) => unknown {
  const vocabulary = new Vocabulary()
  const index = new MiniSearch({
    fields: Object.keys(WEIGHTS),
    tokenize: (text, field) => {
      const terms: string[] = []
      vocabulary.learn(text, LONG.has(field as Field), term => terms.push(String(term)))
      return terms
    },
    processTerm: term => term,
  })
  index.addAll(entries.map((entry, id) => ({ id, ...toolText(entry) })))
  vocabulary.close()
  return query => {
    const words = [...new Set(wordsOf(query.slice(0, 500)))].slice(0, 24)
    const weights = new Map([...vocabulary.weighed(words)].map(([term, weight]) => [String(term), weight]))
    const found = index.search('', {
      tokenize: () => [...weights.keys()],
      processTerm: term => term,
      boostTerm: term => weights.get(term) ?? 1,
      boost: WEIGHTS,
      bm25: BM25,
    })
    return found.map(({ id, score }) => [entries[id as number]?.exposed, score])
  }
}
