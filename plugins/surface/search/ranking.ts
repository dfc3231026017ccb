import MiniSearch from 'minisearch'
import type { CatalogEntry } from '../../../src/plugin.ts'
import { toolText, type ToolText } from './document.ts'
import { Vocabulary } from './vocabulary.ts'
import { wordsOf } from './words.ts'

/** A tool that was found, and how well it fits. */
export interface Ranked {
  readonly entry: CatalogEntry
  readonly score: number
}

/** Fields of a tool by their weight. */
const WEIGHTS = {
  name: 7,
  server: 4.5,
  title: 3,
  lead: 1.3,
  rest: 0.45,
  args: 1,
  values: 0.75,
}

/** Parameters of BM25+: how much more a word says that stands there twice (k), and less in a long text (b); the least that a word counts (d). */
const BM25 = { k: 0.6, b: 1, d: 0.95 }
/** Most characters and words of a query that are looked at. */
const LONGEST_QUERY = 500
const MOST_WORDS = 24
/** Fields that say little: a word counts there once. */
const LONG = new Set(['rest', 'values'])

/** Tools by what is said of them (BM25+). */
export class ToolIndex {
  readonly #entries: readonly CatalogEntry[]
  readonly #index: MiniSearch<ToolText>
  readonly #vocabulary = new Vocabulary()

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#index = new MiniSearch<ToolText>({
      fields: Object.keys(WEIGHTS),
      tokenize: (text, field) => this.#vocabulary.learned(text, LONG.has(field ?? '')),
      processTerm: AS_IT_IS,
    })
    this.#index.addAll(entries.map(toolText))
    this.#vocabulary.close()
  }

  /** The tools that fit a query, the best first. */
  search(query: string, most: number): Ranked[] {
    const words = [...new Set(wordsOf(query.slice(0, LONGEST_QUERY)))].slice(0, MOST_WORDS)
    const weights = this.#vocabulary.weighed(words)
    if (weights.size === 0) return []
    const found = this.#index.search('', {
      tokenize: () => [...weights.keys()],
      processTerm: AS_IT_IS,
      boostTerm: term => weights.get(term) ?? 1,
      boost: WEIGHTS,
      bm25: BM25,
    })
    return found.slice(0, most).flatMap(({ id, score }) => {
      const entry = this.#entries[id as number]
      return entry === undefined ? [] : [{ entry, score }]
    })
  }
}

const AS_IT_IS = (term: string): string => term
