import { distance } from 'fastest-levenshtein'
import { meaningsOf } from './meanings.ts'
import { wordsOf, type Stems } from './words.ts'

/** Weight of what means the same as a word that was asked for. */
const MEANING_WEIGHT = 0.44
/** Weight of a word that begins like one that no tool has, and of one that is spelled nearly like it. */
const BEGINNING_WEIGHT = 0.3
const SPELLING_WEIGHT = 0.2
/** Words that no tool has and that are looked for by their spelling; words that one of them may be. */
const MOST_UNKNOWN = 8
const MOST_SPELLINGS = 5
const SHORTEST = 4
/** Terms of a query: a long one says enough with its words. */
const MOST_TERMS = 16
const RADIX = 8

/** The words of all tools, and what is looked for when a query has one that no tool has. */
export class Vocabulary {
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
      else if (word.length >= SHORTEST && unknown++ < MOST_UNKNOWN)
        for (const [other, weight] of this.#spelledLike(word)) add(other, weight)
    }
    for (const meaning of words.flatMap(meaningsOf)) {
      if (weights.size >= MOST_TERMS) break
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
    return found.sort((one, other) => other[1] - one[1]).slice(0, MOST_SPELLINGS)
  }
}
