import MiniSearch from 'minisearch'
import type { CatalogEntry } from '../../../src/plugin.ts'
import { isMeaning, splitWords, toTerms } from './terms.ts'
import type { ToolDocument } from './tool-document.ts'
import { createToolDocument } from './tool-document.ts'

/** Field weights. */
const WEIGHTS = { name: 7, server: 4.5, title: 3, lead: 1.3, rest: 0.45, args: 1, values: 0.75 }
/** BM25+ parameters: term frequency saturation (k), length normalization (b), minimum term score (d). */
const BM25 = { k: 0.6, b: 1, d: 0.95 }
/** Weights of synonyms, prefix matches and similar spellings. */
const MEANING_WEIGHT = 0.44
const INEXACT_WEIGHTS = { prefix: 0.3, fuzzy: 0.2 }
/** Maximum edit distance relative to the length of a word. */
const FUZZINESS = 0.2
const MIN_INEXACT_LENGTH = 4
/** Maximum characters and words in a query. */
const MAX_QUERY_LENGTH = 500
const MAX_WORDS = 24

/** Full-text tool index (BM25+). */
export class ToolIndex {
  readonly #entries: readonly CatalogEntry[]
  readonly #index = new MiniSearch<ToolDocument>({
    fields: Object.keys(WEIGHTS),
    tokenize: splitWords,
    processTerm: toTerms,
    searchOptions: {
      tokenize: query => [...new Set(splitWords(query.slice(0, MAX_QUERY_LENGTH)))].slice(0, MAX_WORDS),
      boost: WEIGHTS,
      boostTerm: term => (isMeaning(term) ? MEANING_WEIGHT : 1),
      bm25: BM25,
      prefix: allowsInexact,
      fuzzy: term => allowsInexact(term) && FUZZINESS,
      weights: INEXACT_WEIGHTS,
    },
  })

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#index.addAll(entries.map(createToolDocument))
  }

  /** Returns matching tools, best first. */
  search(query: string, limit: number): CatalogEntry[] {
    const results = this.#index.search(query).slice(0, limit)
    return results.flatMap(({ id }) => this.#entries[id as number] ?? [])
  }
}

function allowsInexact(term: string): boolean {
  return term.length >= MIN_INEXACT_LENGTH && !isMeaning(term)
}
