import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countHabits } from './language.ts'
import { readSources, ROOT } from './sources.ts'

/** Largest figures that the project may have. They only fall: whoever makes it smaller lowers them. */
export const CEILINGS: Readonly<Record<string, number>> = {
  'product files': 868,
  'lines of product code': 85_900,
  'lines of TypeScript in test/': 99_500,
  'files of a warm call': 92,
  'functions that end in a preposition, in 1,000': 168,
  'functions without a verb': 132,
  'types named by a participle': 166,
  'constants named by a superlative': 181,
  'type names in three files or more': 288,
  'function names in six files or more': 150,
  'comments: "of" in 1,000 words': 41.6,
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
