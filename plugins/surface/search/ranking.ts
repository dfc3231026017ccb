import type { CatalogEntry } from '../../../src/plugin.ts'
import { toolText, type ToolText } from './document.ts'
import { PostingsList, type Postings } from './postings.ts'
import { Vocabulary } from './vocabulary.ts'
import { wordsOf } from './words.ts'

/** A tool that was found, and how well it fits. */
export interface Ranked {
  readonly entry: CatalogEntry
  readonly score: number
}

/** Fields of a tool by their weight. */
export const WEIGHTS = {
  name: 7,
  server: 4.5,
  title: 3,
  lead: 1.3,
  rest: 0.45,
  args: 1,
  values: 0.75,
} as const satisfies Readonly<Partial<Record<keyof ToolText, number>>>

export type Field = keyof typeof WEIGHTS

const FIELDS = Object.keys(WEIGHTS) as Field[]

/** Parameters of BM25+: how much more a word says that stands there twice (k), and less in a long text (b); the least that a word counts (d). */
export const BM25 = { k: 0.6, b: 1, d: 0.95 } as const
/** Most characters and words of a query that are looked at. */
const LONGEST_QUERY = 500
const MOST_WORDS = 24
/** Fields that say little: a word counts there once. */
export const LONG: ReadonlySet<Field> = new Set(['rest', 'values'])

/** Tools by what is said of them (BM25+). Texts are read once, so that all is kept by number, in flat lists. */
export class ToolIndex {
  readonly #entries: readonly CatalogEntry[]
  readonly #vocabulary = new Vocabulary()
  readonly #postings: Postings
  /** Different terms of each field of each tool, and of a field on average. */
  readonly #lengths: Uint16Array
  readonly #averages = FIELDS.map(() => 0)

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#lengths = new Uint16Array(entries.length * FIELDS.length)
    const postings = new PostingsList()
    for (const [tool, entry] of entries.entries()) {
      const text = toolText(entry)
      for (const [field, name] of FIELDS.entries()) {
        const place = tool * FIELDS.length + field
        postings.begin(place)
        this.#vocabulary.learn(text[name], LONG.has(name), postings.add)
        this.#lengths[place] = postings.length
        this.#averages[field] = ((this.#averages[field] ?? 0) * tool + postings.length) / (tool + 1)
      }
    }
    this.#vocabulary.close()
    this.#postings = postings.sorted()
  }

  /** The tools that fit a query, the best first. */
  search(query: string, most: number): Ranked[] {
    const words = [...new Set(wordsOf(query.slice(0, LONGEST_QUERY)))].slice(0, MOST_WORDS)
    const hits = new Hits(this.#entries.length)
    for (const [term, weight] of this.#vocabulary.weighed(words)) this.#score(term, weight, hits)
    return hits.best(most).flatMap(([tool, score]) => {
      const entry = this.#entries[tool]
      return entry === undefined ? [] : [{ entry, score }]
    })
  }

  #score(term: number, weight: number, hits: Hits): void {
    const { starts, places, counts } = this.#postings
    const from = starts[term] ?? 0
    const to = starts[term + 1] ?? 0
    const factors = this.#factors(places.subarray(from, to), weight)
    const { k, b, d } = BM25
    for (let at = from; at < to; at++) {
      const place = places[at] ?? 0
      const field = place % FIELDS.length
      const count = counts[at] ?? 0
      const length = (this.#lengths[place] ?? 0) / (this.#averages[field] ?? 1)
      const { inverse, factor } = factors[field] ?? NO_FACTOR
      const score = factor * (inverse * (d + (count * (k + 1)) / (count + k * (1 - b + b * length))))
      hits.add((place - field) / FIELDS.length, field, score)
    }
    hits.next()
  }

  /** How much a term says in each field: the more, the fewer tools have it there. */
  #factors(places: Uint32Array, weight: number): Factor[] {
    const counts = FIELDS.map(() => 0)
    for (const place of places) counts[place % FIELDS.length] = (counts[place % FIELDS.length] ?? 0) + 1
    const all = this.#entries.length
    return FIELDS.map((name, field) => {
      const count = counts[field] ?? 0
      return { inverse: Math.log(1 + (all - count + 0.5) / (count + 0.5)), factor: weight * WEIGHTS[name] }
    })
  }
}

interface Factor {
  readonly inverse: number
  readonly factor: number
}

const NO_FACTOR: Factor = { inverse: 0, factor: 0 }

/** Scores of the tools that have a term of one query. */
class Hits {
  readonly #scores: Float64Array
  readonly #terms: Uint8Array
  /** Where each was found first: of those with equal scores the one that was found earlier comes first. */
  readonly #firsts: Uint16Array
  readonly #found: number[] = []
  #term = 0
  /** The tool that the present term is read of, where it stands there first, and what it says so far. */
  #tool = -1
  #field = 0
  #sum = 0

  constructor(tools: number) {
    this.#scores = new Float64Array(tools)
    this.#terms = new Uint8Array(tools)
    this.#firsts = new Uint16Array(tools)
  }

  /** Adds what the present term says in one field of a tool. Fields of a tool come one after the other. */
  add(tool: number, field: number, score: number): void {
    if (tool !== this.#tool) this.#take(tool, field)
    this.#sum += score
  }

  #take(tool: number, field: number): void {
    const before = this.#tool
    if (before >= 0) {
      if (this.#terms[before] === 0) {
        this.#found.push(before)
        this.#firsts[before] = this.#term * FIELDS.length + this.#field
      }
      this.#scores[before] = (this.#scores[before] ?? 0) + this.#sum
      this.#terms[before] = (this.#terms[before] ?? 0) + 1
    }
    this.#tool = tool
    this.#field = field
    this.#sum = 0
  }

  /** Ends the present term. */
  next(): void {
    this.#take(-1, 0)
    this.#term++
  }

  /** The best tools with their scores. Who has more terms of the query is worth as many times as much. */
  best(most: number): [tool: number, score: number][] {
    const scored = this.#found.map(tool => ({
      tool,
      first: this.#firsts[tool] ?? 0,
      score: (this.#scores[tool] ?? 0) * (this.#terms[tool] ?? 0),
    }))
    scored.sort((a, b) => b.score - a.score || a.first - b.first || a.tool - b.tool)
    return scored.slice(0, most).map(({ tool, score }) => [tool, score])
  }
}
