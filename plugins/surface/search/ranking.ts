import { distance } from 'fastest-levenshtein'
import MiniSearch from 'minisearch'
import type { CatalogEntry } from '../../../src/plugin.ts'
import type { ToolText } from './document.ts'
import { toolText } from './document.ts'
import type { Stems } from './meanings.ts'
import { meaningsOf, wordsOf } from './meanings.ts'

/** Weight of what means the same as a word that was asked for. */
const MEANING_WEIGHT = 0.44
/** Weight of a word that begins like one that no tool has, and of one that is spelled nearly like it. */
const BEGINNING_WEIGHT = 0.3
const SPELLING_WEIGHT = 0.2
/** Words that no tool has and that are looked for by their spelling; words that one of them may be. */
const MAX_UNKNOWN = 8
const MAX_SPELLINGS = 5
const SHORTEST = 4
/** Terms of a query: a long one says enough with its words. */
const MAX_TERMS = 16
const RADIX = 8

/** The words of all tools, and what is looked for when a query has one that no tool has. */
class Vocabulary {
  readonly #stems: Stems = new Map()
  /** Terms of each word: its own, and those of what it means. */
  readonly #known = new Map<string, readonly string[]>()
  /** Words and meanings by their numbers: the index keeps a tree of letters, and with few letters that takes a quarter less time. */
  readonly #terms = new Map<string, string>()
  /** The words by their first letters, in which people are seldom wrong. */
  #byLetter: ReadonlyMap<string, readonly string[]> = new Map()

  /** All tools are read. */
  close(): void {
    this.#stems.clear()
    this.#byLetter = Map.groupBy(this.#known.keys(), word => word.charAt(0))
  }

  /** The terms of a text and of what its words mean; they are known from then on. */
  learned(text: string, isOnce: boolean): string[] {
    const words = wordsOf(text, this.#stems)
    const terms: string[] = []
    for (const word of isOnce ? new Set(words) : words)
      for (const term of this.#known.get(word) ?? this.#learn(word)) terms.push(term)
    return terms
  }

  #learn(word: string): readonly string[] {
    const terms = [word, ...meaningsOf(word)].map(text => this.#term(text))
    this.#known.set(word, terms)
    return terms
  }

  #term(text: string): string {
    let term = this.#terms.get(text)
    if (term === undefined) this.#terms.set(text, (term = this.#terms.size.toString(RADIX)))
    return term
  }

  /** Terms to look for, by what they weigh. */
  weighed(words: readonly string[]): Map<string, number> {
    const weights = new Map<string, number>()
    const add = (text: string, weight: number): void => {
      const term = this.#terms.get(text)
      if (term !== undefined && (weights.get(term) ?? 0) < weight) weights.set(term, weight)
    }
    let unknown = 0
    for (const word of words) {
      if (this.#known.has(word)) add(word, 1)
      else if (word.length >= SHORTEST && unknown++ < MAX_UNKNOWN)
        for (const [other, weight] of this.#spelledLike(word)) add(other, weight)
    }
    for (const meaning of words.flatMap(meaningsOf)) {
      if (weights.size >= MAX_TERMS) break
      add(meaning, MEANING_WEIGHT)
    }
    return weights
  }

  #spelledLike(word: string): [string, number][] {
    const found: [string, number][] = []
    const most = word.length < 6 ? 1 : 2
    for (const other of this.#byLetter.get(word.charAt(0)) ?? []) {
      if (other.startsWith(word)) found.push([other, BEGINNING_WEIGHT])
      else if (Math.abs(other.length - word.length) <= most && other.length >= SHORTEST)
        if (distance(word, other) <= most) found.push([other, SPELLING_WEIGHT])
    }
    return found.sort((one, other) => other[1] - one[1]).slice(0, MAX_SPELLINGS)
  }
}

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
const MAX_QUERY_LENGTH = 500
const MAX_WORDS = 24
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
    const words = [...new Set(wordsOf(query.slice(0, MAX_QUERY_LENGTH)))].slice(0, MAX_WORDS)
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
