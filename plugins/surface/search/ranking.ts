import MiniSearch, { type Query } from 'minisearch'
import type { CatalogEntry } from '../../../src/plugin.ts'
import { toolText, type ToolText } from './document.ts'
import { meaningsOf, wordsOf } from './words.ts'

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
  argTexts: 0.2,
  values: 0.75,
}

/** Weight of a word that was not asked for itself. */
const MEANING_WEIGHT = 0.44
/** How much more a word says that stands there twice (k), and less in a long text (b); the least that a word counts (d). */
const BM25 = { k: 0.6, b: 1, d: 0.95 }
const PREFIX_WEIGHT = 0.3
const FUZZY_WEIGHT = 0.2
/** Most characters and words of a query that are looked at. */
const LONGEST_QUERY = 500
const MOST_WORDS = 40

/** Tools by what is said of them (BM25+). */
export class ToolIndex {
  readonly #entries: readonly CatalogEntry[]
  readonly #index: MiniSearch<ToolText>
  readonly #known = new Set<string>()

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#index = new MiniSearch<ToolText>({
      fields: Object.keys(WEIGHTS),
      tokenize: wordsOf,
      processTerm: term => {
        this.#known.add(term)
        return [term, ...meaningsOf(term)]
      },
    })
    this.#index.addAll(entries.map(toolText))
  }

  /** The tools that fit a query, the best first. */
  search(query: string, most: number): Ranked[] {
    const words = [...new Set(wordsOf(query.slice(0, LONGEST_QUERY)))].slice(0, MOST_WORDS)
    if (words.length === 0) return []
    const found = this.#index.search(this.#queryOf(words))
    return found.slice(0, most).flatMap(({ id, score }) => {
      const entry = this.#entries[id as number]
      return entry === undefined ? [] : [{ entry, score }]
    })
  }

  #queryOf(words: readonly string[]): Query {
    const common = { tokenize: AS_IT_IS, processTerm: (term: string) => term, boost: WEIGHTS, bm25: BM25 }
    const meanings = [...new Set(words.flatMap(meaningsOf))]
    return {
      combineWith: 'OR',
      queries: [
        ...words.map(word => ({ ...common, queries: [word], ...this.#spellings(word) })),
        ...meanings.map(mark => ({ ...common, queries: [mark], boostTerm: () => MEANING_WEIGHT })),
      ],
    }
  }

  /** A word that no tool has may be the beginning of another one, or misspelled. */
  #spellings(word: string): object {
    if (this.#known.has(word) || word.length < 4) return {}
    return { prefix: true, fuzzy: 0.2, weights: { prefix: PREFIX_WEIGHT, fuzzy: FUZZY_WEIGHT } }
  }
}

const AS_IT_IS = (text: string): string[] => [text]
