import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countHabits } from './language.ts'
import { readSources, ROOT } from './sources.ts'

/** Largest figures that the project may have. They only fall: whoever makes it smaller lowers them. */
export const CEILINGS: Readonly<Record<string, number>> = {
  'product files': 513,
  'lines of product code': 70_420,
  'lines of TypeScript in test/': 74_360,
  // A slow machine adds a few, as answers that take long begin early.
  'function entries of a warm call': 410,
  'files of a warm call': 47,
  'functions that end in a preposition, in 1,000': 1,
  'functions without a verb': 1,
  'types named by a participle': 0,
  'constants named by a superlative': 0,
  'type names in three files or more': 7,
  'function names in six files or more': 29,
  'comments: "of" in 1,000 words': 11.2,
  'comments: "what", "who", "nobody" in 1,000 words': 0.2,
  'comments: "where" in 1,000 words': 0.2,
  'comments: "say", "tell", "hear", "anew" in 1,000 words': 0.2,
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
