/** Stop words. */
const STOP_WORDS = new Set(
  'a an the and or of to in on at by for from with into as is are be been was were this that these those it its i you your my me we our us they them their his her he she which who what when where how all any each some such other than then so if can could will would may must should do does did done has have had not no only also just via per about using use used based given within between there here please want need like'.split(
    ' ',
  ),
)

/** Splits a text into stemmed words, at non-alphanumeric characters and case changes. */
export function splitWords(text: string, cache: StemCache = new Map()): string[] {
  const words: string[] = []
  for (const piece of text.match(FOREIGN.test(text) ? PIECE : PLAIN_PIECE) ?? NONE) {
    let own = cache.get(piece)
    if (own === undefined) cache.set(piece, (own = splitPiece(piece)))
    for (const word of own) words.push(word)
  }
  return words
}

/** Cached words by piece. */
export type StemCache = Map<string, readonly string[]>

function splitPiece(piece: string): string[] {
  const words: string[] = []
  if (!PLAIN.test(piece)) return splitAnyScript(piece.normalize('NFKC'))
  for (const part of piece.split(CASE)) addWord(part.toLowerCase(), words)
  return words
}

function addWord(word: string, words: string[]): void {
  if (!STOP_WORDS.has(word)) words.push(stemWord(word))
}

const FOREIGN = /[^ -~\s]/
/** Twice as fast as `PIECE`, and sufficient for most texts. */
const PLAIN_PIECE = /[A-Za-z0-9]+/g
const PIECE = /[\p{L}\p{M}\p{N}]+/gu
const PLAIN = /^[A-Za-z0-9]+$/
const CASE = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
const RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu

function splitAnyScript(piece: string): string[] {
  const words: string[] = []
  for (const run of piece.match(RUN) ?? NONE) {
    if (HAN.test(run)) words.push(...splitPairs(run))
    else for (const part of run.split(CASE)) addWord(part.toLowerCase(), words)
  }
  return words
}

const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** Scripts without spaces are indexed as character pairs. */
function splitPairs(text: string): string[] {
  const characters = Array.from(text)
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)
}

const VOWEL = /[aeiouy]/

/** Stems an English word, approximately: `queries`, `querying` and `query` are equal. */
export function stemWord(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let stem = toSingular(word)
  for (const [ending, replacement] of ENDINGS) {
    if (!stem.endsWith(ending)) continue
    const base = stem.slice(0, -ending.length)
    if (base.length < 3 || !VOWEL.test(base)) break
    stem = base + replacement
    break
  }
  if (/([^aeiouylsz])\1$/.test(stem)) stem = stem.slice(0, -1)
  return stem.length > 3 && stem.endsWith('e') ? stem.slice(0, -1) : stem.replace(/y$/, 'i')
}

const ENDINGS: readonly (readonly [string, string])[] = [
  ['ization', 'iz'],
  ['ational', 'at'],
  ['fulness', ''],
  ['ations', 'at'],
  ['ation', 'at'],
  ['ments', ''],
  ['ingly', ''],
  ['ment', ''],
  ['ness', ''],
  ['tion', 't'],
  ['ing', ''],
  ['ers', ''],
  ['ed', ''],
  ['er', ''],
  ['ly', ''],
]

function toSingular(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/(?:ch|sh|x|z)es$/.test(word)) return word.slice(0, -2)
  return /[^su]s$/.test(word) ? word.slice(0, -1) : word
}

/** Synonym groups in general English: server operations, then everyday topics. A word may be in several groups. */
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
  'recipe dish cook meal',
  'detail information info',
  'movie film video',
  'package library dependency module npm',
  'buy shopping shop goods deal',
  'wiki wikipedia encyclopedia',
  'unstage reset undo revert',
  'path directory file',
  'sell sale selling',
  'pay payment invoice billing charge checkout',
  'money cash currency fund financial finance',
  'currency exchange forex fx',
  'crypto cryptocurrency bitcoin coin token blockchain',
  'bank banking account',
  'invest investment investor portfolio trading trade',
  'company business firm organization corporate',
  'job career employment hiring vacancy position',
  'resume cv',
  'car vehicle auto automobile',
  'trip travel journey tour itinerary vacation holiday',
  'hotel accommodation lodging stay booking reservation',
  'book reserve booking reservation',
  'flight airline plane airport',
  'train rail railway',
  'route direction navigation navigate',
  'house home property apartment rental estate',
  'restaurant dining eat food',
  'drink beverage cocktail wine',
  'health medical medicine doctor healthcare',
  'fitness exercise workout training',
  'diet nutrition calorie',
  'law legal lawyer contract',
  'school education learn learning course study teach lesson',
  'student pupil',
  'quiz trivia question',
  'answer reply respond response',
  'ask question query',
  'explain describe explanation description',
  'summarize summary summarise abstract digest overview brief',
  'translate translation translator language',
  'write compose draft author',
  'improve enhance optimize optimise refine',
  'fix repair correct debug',
  'check verify validate inspect examine',
  'analyze analyse analysis analytics insight evaluate assess',
  'recommend recommendation suggest suggestion advise advice',
  'plan planner planning schedule organize',
  'task todo reminder',
  'meeting appointment event calendar',
  'person people contact user',
  'friend companion chat conversation talk',
  'send deliver transmit',
  'game play gaming',
  'music song track audio sound playlist',
  'video movie film clip youtube',
  'draw paint sketch design',
  'logo icon',
  'color colour palette',
  'font typeface',
  'paper article research scholarly academic',
  'book novel literature',
  'poem poetry',
  'story tale narrative',
  'air pollution quality',
  'sun sunrise sunset solar',
  'star astronomy space planet',
  'country nation',
  'city town',
  'language english',
  'code program programming source software',
  'upload attach',
  'deploy release publish',
  'host server domain',
  'email mail',
  'social twitter instagram facebook',
  'tweet post',
  'advertisement ad marketing campaign promotion seo',
  'customer client',
  'product item goods merchandise',
  'discount coupon deal offer bargain',
  'gift present',
  'fashion clothing clothes outfit wear',
  'beauty cosmetic makeup',
  'pet animal dog cat',
  'plant garden',
  'religion bible spiritual prayer',
  'fortune horoscope tarot astrology zodiac',
  'love dating relationship',
  'joke humor funny',
  'math mathematics mathematical calculation equation formula',
  'calculate compute evaluate',
  'convert conversion transform',
  'random generate',
  'password credential secret',
  'encrypt cipher',
  'statistic data metric',
  'best top popular trending',
  'future predict prediction forecast',
  'sport football basketball team league match',
  'crime safety',
  'government public policy',
  'tax',
  'insurance',
  'loan mortgage credit',
  'newest recent',
  'climate weather',
  'purchase order shopping',
  'pricing fee expense cost price',
  'youtube video clip',
  'illustration picture image',
  'food meal cooking cuisine recipe',
  'series tv episode',
  'market stock',
  'versus contrast comparison',
]

const NONE: readonly string[] = []

/** Returns a word's synonym group ids. */
export function getMeanings(word: string): readonly string[] {
  return MEANINGS.get(word) ?? NONE
}

/** Group ids by stem; `=` cannot occur in a word. */
function indexSynonyms(groups: readonly string[]): Map<string, readonly string[]> {
  const meanings = new Map<string, string[]>()
  for (const [index, group] of groups.entries())
    for (const word of new Set(group.split(' ').map(stemWord)))
      meanings.set(word, [...(meanings.get(word) ?? []), `=${index}`])
  return meanings
}

const MEANINGS: ReadonlyMap<string, readonly string[]> = indexSynonyms(SYNONYM_GROUPS)
