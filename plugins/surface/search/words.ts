/** Words that say nothing about what a tool does. */
const EMPTY = new Set(
  'a an the and or of to in on at by for from with into as is are be been was were this that these those it its i you your my me we our us they them their his her he she which who what when where how all any each some such other than then so if can could will would may must should do does did done has have had not no only also just via per about using use used based given within between there here please want need like'.split(
    ' ',
  ),
)

/** Ways of saying the same, by verbs and nouns of the kind that tools are about. */
const SAME = [
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
]

/** The words of a text, in their stems: cut at what is no letter or digit, and where a name changes its case. */
export function wordsOf(text: string, known: Stems = new Map()): string[] {
  const words: string[] = []
  for (const piece of text.match(PIECE) ?? NONE) {
    let own = known.get(piece)
    if (own === undefined) known.set(piece, (own = wordsIn(piece)))
    for (const word of own) words.push(word)
  }
  return words
}

/** Words of each piece of a text that was read, as the same pieces come again. */
export type Stems = Map<string, readonly string[]>

function wordsIn(piece: string): string[] {
  const words: string[] = []
  if (!PLAIN.test(piece)) return wordsOfAnyScript(piece.normalize('NFKC'))
  for (const part of piece.split(CASE)) addWord(part.toLowerCase(), words)
  return words
}

function addWord(word: string, words: string[]): void {
  if (!EMPTY.has(word)) words.push(stemOf(word))
}

/** Marks of a word that other words for the same thing have too. */
export function meaningsOf(word: string): readonly string[] {
  return MEANINGS.get(word) ?? NONE
}

const PIECE = /[\p{L}\p{M}\p{N}]+/gu
const PLAIN = /^[A-Za-z0-9]+$/
const CASE = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
const RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu

function wordsOfAnyScript(piece: string): string[] {
  const words: string[] = []
  for (const run of piece.match(RUN) ?? NONE) {
    if (HAN.test(run)) words.push(...pairsOf(run))
    else for (const part of run.split(CASE)) addWord(part.toLowerCase(), words)
  }
  return words
}

const NONE: readonly string[] = []
const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** Scripts without spaces are read two characters at a time. */
function pairsOf(text: string): string[] {
  const characters = Array.from(text)
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)
}

const VOWEL = /[aeiouy]/

/** An English word without its ending, roughly: `queries`, `querying` and `query` are one. */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let stem = singular(word)
  for (const [ending, other] of ENDINGS) {
    if (!stem.endsWith(ending)) continue
    const rest = stem.slice(0, -ending.length)
    if (rest.length < 3 || !VOWEL.test(rest)) break
    stem = rest + other
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

function singular(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/(?:ch|sh|x|z)es$/.test(word)) return word.slice(0, -2)
  return /[^su]s$/.test(word) ? word.slice(0, -1) : word
}

/** Marks by the stems of words. No word of a text has such a mark in it. */
function meanings(groups: readonly string[]): Map<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const [index, group] of groups.entries())
    for (const word of new Set(group.split(' ').map(stemOf)))
      found.set(word, [...(found.get(word) ?? []), `=${index}`])
  return found
}

const MEANINGS: ReadonlyMap<string, readonly string[]> = meanings(SAME)
