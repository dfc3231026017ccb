/** Words that say nothing about what a tool does. */
const EMPTY = new Set(
  'a an the and or of to in on at by for from with into as is are be been was were this that these those it its i you your my me we our us they them their his her he she which who what when where how all any each some such other than then so if can could will would may must should do does did done has have had not no only also just via per about using use used based given within between there here please want need like'.split(
    ' ',
  ),
)

/** The words of a text, in their stems: cut at what is no letter or digit, and where a name changes its case. */
export function wordsOf(text: string, known: Stems = new Map()): string[] {
  const words: string[] = []
  for (const piece of text.match(FOREIGN.test(text) ? PIECE : PLAIN_PIECE) ?? NONE) {
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

const FOREIGN = /[^ -~\s]/
/** Half as dear as the other one, and enough for most texts. */
const PLAIN_PIECE = /[A-Za-z0-9]+/g
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
