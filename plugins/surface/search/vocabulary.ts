import { distance } from 'fastest-levenshtein'
import { meaningsOf, wordsOf, type Stems } from './words.ts'

/** Weight of what means the same as a word that was asked for. */
const MEANING_WEIGHT = 0.44
/** Weight of a word that begins like one that no tool has, and of one that is spelled nearly like it. */
const BEGINNING_WEIGHT = 0.3
const SPELLING_WEIGHT = 0.2
/** Words that no tool has and that are looked for by their spelling; words that one of them may be. */
const MOST_UNKNOWN = 8
const MOST_SPELLINGS = 5
const SHORTEST = 4

/** The words of all tools, and what is looked for when a query has one that no tool has. */
export class Vocabulary {
  readonly #stems: Stems = new Map()
  /** Each word with what it means. */
  readonly #known = new Map<string, readonly string[]>()

  /** All tools are read. */
  close(): void {
    this.#stems.clear()
  }

  /** The words of a text and what they mean; they are known from then on. */
  learned(text: string, isOnce: boolean): string[] {
    const words = wordsOf(text, this.#stems)
    const terms: string[] = []
    for (const word of isOnce ? new Set(words) : words)
      for (const term of this.#known.get(word) ?? this.#learn(word)) terms.push(term)
    return terms
  }

  #learn(word: string): readonly string[] {
    const terms = [word, ...meaningsOf(word)]
    this.#known.set(word, terms)
    return terms
  }

  /** Words and meanings to look for, by what they weigh. */
  weighed(words: readonly string[]): Map<string, number> {
    const weights = new Map<string, number>()
    const add = (term: string, weight: number): void => {
      if ((weights.get(term) ?? 0) < weight) weights.set(term, weight)
    }
    let unknown = 0
    for (const word of words) {
      if (this.#known.has(word)) add(word, 1)
      else if (word.length >= SHORTEST && unknown++ < MOST_UNKNOWN)
        for (const [other, weight] of this.#spelledLike(word)) add(other, weight)
      for (const meaning of meaningsOf(word)) add(meaning, MEANING_WEIGHT)
    }
    return weights
  }

  #spelledLike(word: string): [string, number][] {
    const found: [string, number][] = []
    const most = word.length < 6 ? 1 : 2
    for (const other of this.#known.keys()) {
      if (other.startsWith(word)) found.push([other, BEGINNING_WEIGHT])
      else if (Math.abs(other.length - word.length) <= most && other.length >= SHORTEST)
        if (distance(word, other) <= most) found.push([other, SPELLING_WEIGHT])
    }
    return found.sort((one, other) => other[1] - one[1]).slice(0, MOST_SPELLINGS)
  }
}
