import { distance } from 'fastest-levenshtein'
import { meaningsOf } from './meanings.ts'
import { piecesOf, wordsIn } from './words.ts'

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
const MOST_TERMS = 24

/** A word of a tool, by its number. */
interface Word {
  /** Numbers of its terms: its own, and those of what it means. */
  readonly terms: readonly number[]
  /** Number of the text in which it was read last. */
  lastIn: number
}

/** The words of all tools, and what is looked for when a query has one that no tool has. */
export class Vocabulary {
  /** Words of each piece of a text, as the same pieces come again. */
  readonly #pieces = new Map<string, readonly Word[]>()
  readonly #known = new Map<string, Word>()
  /** Words and meanings by their numbers. */
  readonly #terms = new Map<string, number>()
  /** The words by their first letters, in which people are seldom wrong. */
  #byLetter: ReadonlyMap<string, readonly string[]> = new Map()
  #texts = 0

  /** All tools are read. */
  close(): void {
    this.#pieces.clear()
    this.#byLetter = Map.groupBy(this.#known.keys(), word => word.charAt(0))
  }

  /** Visits the terms of a text and of what its words mean, by their numbers; they are known from then on. */
  learn(text: string, isOnce: boolean, visit: (term: number) => void): void {
    const own = ++this.#texts
    for (const piece of piecesOf(text)) {
      const words = this.#pieces.get(piece) ?? this.#learnPiece(piece)
      for (const word of words) {
        if (isOnce && word.lastIn === own) continue
        word.lastIn = own
        for (const term of word.terms) visit(term)
      }
    }
  }

  #learnPiece(piece: string): readonly Word[] {
    const words = wordsIn(piece).map(word => this.#known.get(word) ?? this.#learnWord(word))
    this.#pieces.set(piece, words)
    return words
  }

  #learnWord(text: string): Word {
    const word = { terms: [text, ...meaningsOf(text)].map(term => this.#term(term)), lastIn: 0 }
    this.#known.set(text, word)
    return word
  }

  #term(text: string): number {
    let term = this.#terms.get(text)
    if (term === undefined) this.#terms.set(text, (term = this.#terms.size))
    return term
  }

  /** Terms to look for, by what they weigh. */
  weighed(words: readonly string[]): Map<number, number> {
    const weights = new Map<number, number>()
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
