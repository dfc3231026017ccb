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
export function splitWords(text: string): string[] {
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
export function toTerms(word: string): string[] | null {
  const lower = word.toLowerCase()
  if (lower === '' || STOP_WORDS.has(lower)) return null
  const stem = stemWord(lower)
  return [stem, ...(MEANINGS.get(stem) ?? [])]
}

/** Returns true for a term that stands for a group of synonyms. */
export function isMeaning(term: string): boolean {
  return term.startsWith('=')
}

/** Stems an English word, approximately: `queries`, `querying` and `query` are equal. */
export function stemWord(word: string): string {
  if (word.length < 4) return word
  const stem = word
    .replace(/ies$/, 'y')
    .replace(/(?<=ch|sh|x|z|ss)es$|(?<=[^su])s$/, '')
    .replace(/(?<=\w{3})(?:ization|izing|ation|ing|ment|ness|tion|er|ed|ly)$/, '')
    .replace(/([^aeiouylsz])\1$/, '$1')
  return stem.length > 3 ? stem.replace(/e$/, '').replace(/y$/, 'i') : stem
}

/** Synonyms of server operations. Each group costs index space, and more groups find no more tools. */
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
