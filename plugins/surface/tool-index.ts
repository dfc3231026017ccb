import MiniSearch from 'minisearch'
import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import { extractFirstSentence } from './tool-signature.ts'

/** Field weights. */
const WEIGHTS = { name: 7, server: 4.5, title: 3, lead: 1.3, rest: 0.45, args: 1, values: 0.75 }
/** BM25+ parameters: term frequency saturation (k), length normalization (b), minimum term score (d). */
const BM25 = { k: 0.6, b: 1, d: 0.95 }
/** Weights for synonyms, prefix matches and similar spellings. */
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

/** Searchable tool fields. */
interface ToolDocument {
  readonly id: number
  readonly name: string
  readonly server: string
  readonly title: string
  /** The description's first sentence. */
  readonly lead: string
  readonly rest: string
  readonly args: string
  readonly values: string
}

/** Maximum description characters; the end of a long one adds cost but no results. */
const MAX_TEXT_LENGTH = 1200
/** Maximum characters after the first sentence, and of argument names. Argument descriptions add no results. */
const MAX_REST_LENGTH = 200
const MAX_JOINED_LENGTH = 600
const MAX_VALUES = 50
const MAX_DEPTH = 4

function createToolDocument(entry: CatalogEntry, id: number): ToolDocument {
  const { value, exposed, upstream } = entry
  const texts: CollectedTexts = { names: [], values: [] }
  collectSchemaTexts(value.inputSchema, texts, 0)
  const description = toSearchText(value.description)
  const lead = extractFirstSentence(description)
  return {
    id,
    name: exposed,
    server: upstream,
    title: getTitle(value),
    lead,
    rest: description.slice(lead.length, lead.length + MAX_REST_LENGTH),
    args: joinBounded(texts.names),
    values: joinBounded(texts.values),
  }
}

function getTitle(value: JsonObject): string {
  const { title, annotations } = value
  return typeof title === 'string' ? title : toSearchText(isObject(annotations) ? annotations.title : undefined)
}

interface CollectedTexts {
  readonly names: string[]
  readonly values: string[]
}

function collectSchemaTexts(schema: unknown, into: CollectedTexts, depth: number): void {
  if (!isObject(schema) || depth > MAX_DEPTH) return
  const { properties, items, enum: values } = schema
  if (isObject(properties))
    for (const [name, property] of Object.entries(properties)) {
      into.names.push(name)
      if (!isObject(property)) continue
      collectSchemaTexts(property, into, depth + 1)
    }
  if (Array.isArray(values))
    for (const value of values.slice(0, MAX_VALUES)) if (typeof value === 'string') into.values.push(value)
  collectSchemaTexts(items, into, depth + 1)
}

function toSearchText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : ''
}

function joinBounded(texts: readonly string[]): string {
  return texts.join(' ').slice(0, MAX_JOINED_LENGTH)
}

/** Stop words. */
const STOP_WORDS = new Set(
  'a an the and or of to in on at by for from with into as is are be been was were this that these those it its i you your my me we our us they them their his her he she which who what when where how all any each some such other than then so if can could will would may must should do does did done has have had not no only also just via per about using use used based given within between there here please want need like'.split(
    ' ',
  ),
)

const WORD = /[\p{L}\p{M}\p{N}]+/gu
const CASE = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
/** Scripts without spaces; indexed as character pairs. */
const UNSPACED = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+)/u

/** Splits a text into words, at non-alphanumeric characters and case changes. */
function splitWords(text: string): string[] {
  return (text.normalize('NFKC').match(WORD) ?? []).flatMap(piece =>
    piece.split(UNSPACED).flatMap((part, index) => (index % 2 === 1 ? splitPairs(part) : part.split(CASE))),
  )
}

function splitPairs(text: string): string[] {
  const characters = Array.from(text)
  return characters.length < 2
    ? characters
    : characters.slice(1).map((next, index) => `${characters[index] ?? ''}${next}`)
}

/** Returns a word's index terms: its stem and its meanings. Null for a stop word. */
function toTerms(word: string): string[] | null {
  const lower = word.toLowerCase()
  if (lower === '' || STOP_WORDS.has(lower)) return null
  const stem = stemWord(lower)
  return [stem, ...(MEANINGS.get(stem) ?? [])]
}

/** Returns true for a term that stands for a group of synonyms. */
function isMeaning(term: string): boolean {
  return term.startsWith('=')
}

/** Stems an English word, approximately: `queries`, `querying` and `query` are equal. */
function stemWord(word: string): string {
  if (word.length < 4) return word
  const stem = word
    .replace(/ies$/, 'y')
    .replace(/(?<=ch|sh|x|z|ss)es$|(?<=[^su])s$/, '')
    .replace(/(?<=\w{3})(?:ization|izing|ation|ing|ment|ness|tion|er|ed|ly)$/, '')
    .replace(/([^aeiouylsz])\1$/, '$1')
  return stem.length > 3 ? stem.replace(/e$/, '').replace(/y$/, 'i') : stem
}

/** Synonyms for server operations. Each group costs index space, and more groups find no more tools. */
const SYNONYM_GROUPS = [
  'delete remove erase drop discard clear rid',
  'send post publish submit',
  'create make new generate build produce prepare',
  'add append insert attach put',
  'get fetch retrieve obtain show display return give',
  'read open load view extract',
  'search find lookup query discover locate seek gather collect',
  'list enumerate listing available all',
  'update edit modify change alter replace revise adjust',
  'write save store persist record output',
  'move rename relocate',
  'copy duplicate clone',
  'run execute launch start invoke',
  'stop kill terminate end abort',
  'convert transform translate turn',
  'compute calculate estimate',
  'merge combine join concatenate',
  'picture image photo screenshot',
  'folder directory',
  'repository repo repositories codebase',
  'document doc docx word report',
  'paragraph text content',
  'slide ppt powerpoint presentation pptx',
  'spreadsheet excel xlsx sheet workbook',
  'website webpage site web page url link browser',
  'message mail email',
  'issue ticket bug',
  'price quote cost',
  'stock share equity ticker',
  'paper article publication',
  'weather forecast temperature',
  'map location place coordinate address geocode',
  'nearby near surrounding around',
  'trending hot popular ranking rank trend top',
  'news headline latest recent',
  'chart graph plot diagram visualization visualize',
  'database sql sqlite table row',
  'date day calendar today',
  'time clock hour now current',
  'count number total',
  'command terminal shell console',
  'memory knowledge remember recall note observation fact',
  'relation relationship edge connection link',
  'entity node record',
  'diff difference compare comparison',
  'history log past',
  'tree nested hierarchy structure recursive',
]

/** Terms for groups by stem; `=` cannot occur in a word. */
const MEANINGS = new Map<string, string[]>()
for (const [index, group] of SYNONYM_GROUPS.entries())
  for (const stem of new Set(group.split(' ').map(stemWord)))
    MEANINGS.set(stem, [...(MEANINGS.get(stem) ?? []), `=${index}`])
