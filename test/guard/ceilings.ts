import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countHabits } from './language.ts'
import { readSources, ROOT } from './sources.ts'

/** Largest figures that the project may have. They only fall: whoever makes it smaller lowers them. */
export const CEILINGS: Readonly<Record<string, number>> = {
  'product files': 622,
  'lines of product code': 82_405,
  'lines of TypeScript in test/': 87_000,
  'files of a warm call': 77,
  'functions that end in a preposition, in 1,000': 163,
  'functions without a verb': 126,
  'types named by a participle': 1,
  'constants named by a superlative': 2,
  'type names in three files or more': 260,
  'function names in six files or more': 141,
  'comments: "of" in 1,000 words': 41.5,
  'comments: "what", "who", "nobody" in 1,000 words': 18.4,
  'comments: "where" in 1,000 words': 8,
  'comments: "say", "tell", "hear", "anew" in 1,000 words': 11.6,
}

/** Counts what has a ceiling. */
export function countAll(): Record<string, number> {
  const sources = readSources('src/**/*.ts', 'plugins/**/*.ts')
  const tests = globSync('test/**/*.ts', { cwd: ROOT }).map(file => readFileSync(join(ROOT, file), 'utf8'))
  return {
    'product files': sources.length,
    'lines of product code': sources.reduce((sum, { lines }) => sum + lines, 0),
    'lines of TypeScript in test/': tests.reduce((sum, text) => sum + text.split('\n').length - 1, 0),
    ...countHabits(),
  }
}
