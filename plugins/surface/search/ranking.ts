import { distance } from 'fastest-levenshtein'
import MiniSearch from 'minisearch'
import type { CatalogEntry } from '../../../src/plugin.ts'
import type { ToolDocument } from './tool-document.ts'
import { createToolDocument } from './tool-document.ts'
import type { StemCache } from './word-stems.ts'
import { getMeanings, splitWords } from './word-stems.ts'

/** Synonym weight. */
const MEANING_WEIGHT = 0.44
/** Weight of prefix matches, and of similar spellings, for unknown words. */
const BEGINNING_WEIGHT = 0.3
const SPELLING_WEIGHT = 0.2
/** Maximum unknown words per query, and similar words for each. */
const MAX_UNKNOWN = 8
const MAX_SPELLINGS = 5
const MIN_SPELLING_LENGTH = 4
/** Maximum query terms; more add nothing. */
const MAX_TERMS = 16
const RADIX = 8

/** Words of all tools, and substitutes for unknown query words. */
class Vocabulary {
  readonly #stems: StemCache = new Map()
  /** A word's terms: its own and its synonyms. */
  readonly #termsByWord = new Map<string, readonly string[]>()
  /** Words as short numbers, because the radix tree of the index is faster with a small alphabet. */
  readonly #terms = new Map<string, string>()
  /** Words by first letter, which is rarely misspelled. */
  #byLetter: ReadonlyMap<string, readonly string[]> = new Map()

  /** Ends the learning phase. */
  freeze(): void {
    this.#stems.clear()
    this.#byLetter = Map.groupBy(this.#termsByWord.keys(), word => word.charAt(0))
  }

  /** Returns a text's terms, and learns its words. */
  learnText(text: string, isOnce: boolean): string[] {
    const words = splitWords(text, this.#stems)
    const terms: string[] = []
    for (const word of isOnce ? new Set(words) : words)
      for (const term of this.#termsByWord.get(word) ?? this.#learnWord(word)) terms.push(term)
    return terms
  }

  #learnWord(word: string): readonly string[] {
    const terms = [word, ...getMeanings(word)].map(text => this.#getTerm(text))
    this.#termsByWord.set(word, terms)
    return terms
  }

  #getTerm(text: string): string {
    let term = this.#terms.get(text)
    if (term === undefined) this.#terms.set(text, (term = this.#terms.size.toString(RADIX)))
    return term
  }

  /** Returns the search terms with their weights. */
  weighTerms(words: readonly string[]): Map<string, number> {
    const weights = new Map<string, number>()
    const add = (text: string, weight: number): void => {
      const term = this.#terms.get(text)
      if (term !== undefined && (weights.get(term) ?? 0) < weight) weights.set(term, weight)
    }
    let unknown = 0
    for (const word of words) {
      if (this.#termsByWord.has(word)) add(word, 1)
      else if (word.length >= MIN_SPELLING_LENGTH && unknown++ < MAX_UNKNOWN)
        for (const [similarWord, weight] of this.#findSimilarWords(word)) add(similarWord, weight)
    }
    for (const meaning of words.flatMap(getMeanings)) {
      if (weights.size >= MAX_TERMS) break
      add(meaning, MEANING_WEIGHT)
    }
    return weights
  }

  #findSimilarWords(word: string): [string, number][] {
    const similar: [string, number][] = []
    const maxDistance = word.length < 6 ? 1 : 2
    for (const candidate of this.#byLetter.get(word.charAt(0)) ?? []) {
      if (candidate.startsWith(word)) similar.push([candidate, BEGINNING_WEIGHT])
      else if (Math.abs(candidate.length - word.length) <= maxDistance && candidate.length >= MIN_SPELLING_LENGTH)
        if (distance(word, candidate) <= maxDistance) similar.push([candidate, SPELLING_WEIGHT])
    }
    return similar.sort((one, other) => other[1] - one[1]).slice(0, MAX_SPELLINGS)
  }
}

export interface RankedTool {
  readonly entry: CatalogEntry
  readonly score: number
}

/** Field weights. */
const WEIGHTS = {
  name: 7,
  server: 4.5,
  title: 3,
  lead: 1.3,
  rest: 0.45,
  args: 1,
  values: 0.75,
}

/** BM25+ parameters: term frequency saturation (k), length normalization (b), minimum term score (d). */
const BM25 = { k: 0.6, b: 1, d: 0.95 }
/** Maximum characters and words in a query. */
const MAX_QUERY_LENGTH = 500
const MAX_WORDS = 24
/** Fields in which a word counts once. */
const ONCE_PER_FIELD = new Set(['rest', 'values'])

/** Full-text index of tools (BM25+). */
export class ToolIndex {
  readonly #entries: readonly CatalogEntry[]
  readonly #index: MiniSearch<ToolDocument>
  readonly #vocabulary = new Vocabulary()

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#index = new MiniSearch<ToolDocument>({
      fields: Object.keys(WEIGHTS),
      tokenize: (text, field) => this.#vocabulary.learnText(text, ONCE_PER_FIELD.has(field ?? '')),
      processTerm: keepTerm,
    })
    this.#index.addAll(entries.map(createToolDocument))
    this.#vocabulary.freeze()
  }

  /** Returns matching tools, best first. */
  search(query: string, limit: number): RankedTool[] {
    const words = [...new Set(splitWords(query.slice(0, MAX_QUERY_LENGTH)))].slice(0, MAX_WORDS)
    const weights = this.#vocabulary.weighTerms(words)
    if (weights.size === 0) return []
    const results = this.#index.search('', {
      tokenize: () => [...weights.keys()],
      processTerm: keepTerm,
      boostTerm: term => weights.get(term) ?? 1,
      boost: WEIGHTS,
      bm25: BM25,
    })
    return results.slice(0, limit).flatMap(({ id, score }) => {
      const entry = this.#entries[id as number]
      return entry === undefined ? [] : [{ entry, score }]
    })
  }
}

const keepTerm = (term: string): string => term
