import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './sources.ts'

// Habits of naming and wording that readers stumble over, counted by line; CONTRIBUTING.md says what to write in their place.

const FUNCTIONS = [
  /\bfunction\*?\s+([A-Za-z_$][\w$]*)/g,
  /\bconst\s+([a-z][\w$]*)\s*=\s*(?:async\s*)?(?:\([^)]*\)|[a-z]\w*)(?::[^=]+)?\s*=>/g,
  /^\s+(?:static |private |async |readonly |#)*#?(?!(?:if|for|while|switch|catch|function|constructor|return|with)\b)([a-z][\w$]*)\s*(?:<[^>]*>)?\([^)]*\)\s*(?::[^{=]+)?\{\s*$/g,
]
const TYPES = [/\b(?:interface|type|class)\s+([A-Z][\w$]*)/g]
const CONSTANTS = [/\bconst\s+([A-Z][A-Z0-9_]+)\b/g]

const PREPOSITION = /[a-z](?:Of|In|For|To|By|At|From|With)$/
/** Names that end in a preposition and yet are standard. */
const STANDARD =
  /^(?:addTo|bindTo|connectTo|pipeTo|writeTo|sendTo|startsWith|endsWith|replaceWith|compareTo|waitFor|checkFor|searchFor|listenTo|subscribeTo|indexOf|lastIndexOf|instanceOf|typeOf|logIn|signIn|createFrom|readFrom|parseFrom|copyTo|appendTo|moveTo|belongsTo)$/
const VERBLESS =
  /^(?:meant|shown|said|told|kept|sought|together|away|anew|soon|now|besides|seven|plain|(?:where|who|what|which|how|known|asked|hidden|given|carried|heard)\w*)$/
const PARTICIPLE =
  /^(?:Said|Kept|Sought|Away|Until|Found|Known|Wanted|Waiting|Place|Way|Means|Surroundings|Ears|Heir|Errand|Handed|Heard|Missed|Taught|Settled|Meant|Followed|Remembered|Gone|Given|Shown|Carried|Left|Held|Asked|Written|Owed|Room|Seen|Told|Beside|Elsewhere|Onward|Visit|Journey|Patient|Doorstep|Stay|Passage|Neighbou?rs?)$/
const SUPERLATIVE = /^(?:MOST|LONGEST|LARGEST|DEEPEST|LEAST|FEW|QUIET|SOON|LATE)(?:_|$)/

const PHRASES: Readonly<Record<string, RegExp>> = {
  'comments: "of" in 1,000 words': /\bof\b/gi,
  'comments: "what", "who", "nobody" in 1,000 words': /\b(?:what|who|whoever|whom|nobody|somebody)\b/gi,
  'comments: "where" in 1,000 words': /\bwhere\b/gi,
  'comments: "say", "tell", "hear", "anew" in 1,000 words':
    /\b(?:says?|said|tells?|told|hears?|heard|goes? on|anew|beside|lets? go)\b/gi,
}

/** Counts each habit in the product's files. */
export function countHabits(): Record<string, number> {
  const files = globSync(['src/**/*.{ts,tsx}', 'plugins/**/*.{ts,tsx}', 'bin/*.js'], { cwd: ROOT })
    .filter(file => !/\.gen\.|\.test\./.test(file))
    .map(file => readFileSync(join(ROOT, file), 'utf8').split('\n'))
  const code = files.map(lines => lines.filter(line => !isComment(line)))
  const comments = files
    .flat()
    .filter(isComment)
    .map(line => line.replace(/^\s*(?:\/\*\*?|\*\/?|\/\/)\s?/, '').replaceAll(/`[^`]*`/g, 'x'))
  const words = comments.reduce((sum, line) => sum + (line.match(/[A-Za-z']+/g)?.length ?? 0), 0)
  const functions = code.map(lines => findNames(lines, FUNCTIONS))
  const types = code.map(lines => findNames(lines, TYPES))
  const names = functions.flat()
  const prepositions = names.filter(name => PREPOSITION.test(name) && !STANDARD.test(name)).length
  return {
    'functions that end in a preposition, in 1,000': Math.round((1000 * prepositions) / names.length),
    'functions without a verb': names.filter(name => VERBLESS.test(name)).length,
    'types named by a participle': types.flat().filter(name => PARTICIPLE.test(name)).length,
    'constants named by a superlative': code
      .flatMap(lines => findNames(lines, CONSTANTS))
      .filter(name => SUPERLATIVE.test(name)).length,
    'type names in three files or more': countRepeated(types, 3),
    'function names in six files or more': countRepeated(functions, 6),
    ...Object.fromEntries(
      Object.entries(PHRASES).map(([what, phrase]) => {
        const count = comments.reduce((sum, line) => sum + (line.match(phrase)?.length ?? 0), 0)
        return [what, Math.round((10_000 * count) / words) / 10]
      }),
    ),
  }
}

function isComment(line: string): boolean {
  return /^\s*(?:\/\/|\/\*|\*)/.test(line)
}

function findNames(lines: readonly string[], patterns: readonly RegExp[]): string[] {
  return lines.flatMap(line => patterns.flatMap(one => [...line.matchAll(one)].map(([, name = '']) => name)))
}

/** Counts the names that at least `least` files declare. */
function countRepeated(byFile: readonly (readonly string[])[], least: number): number {
  const files = new Map<string, number>()
  for (const names of byFile) for (const name of new Set(names)) files.set(name, (files.get(name) ?? 0) + 1)
  return [...files.values()].filter(count => count >= least).length
}
