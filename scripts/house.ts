// Prints code metrics: `npm run house`, `npm run house -- --json`.
import { dirname } from 'node:path/posix'
import { findFolderRings, findRings } from '../test/guard/graph.ts'
import { countCall } from '../test/guard/call-files.ts'
import { CEILINGS, countAll } from '../test/guard/ceilings.ts'
import { readSources } from '../test/guard/sources.ts'
import { retiredIn } from '../test/guard/words.ts'

const sources = readSources('src/**/*.ts', 'plugins/**/*.ts')
const lines = sources.map(source => source.lines).sort((a, b) => a - b)
const functions = sources.flatMap(source => source.functions.map(one => one.lines)).sort((a, b) => a - b)
const retired = new Map<string, number>()
for (const { file } of sources) for (const word of retiredIn(file)) retired.set(word, (retired.get(word) ?? 0) + 1)
const { files: call, entries } = await countCall()
const counts: Record<string, number> = {
  ...countAll(),
  'files of a warm call': call.length,
  'function entries of a warm call': entries,
}

const figures = {
  ...Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, `${count} (at most ${CEILINGS[what]})`])),
  'lines of a file: mean, p95, max': [Math.round(sum(lines) / lines.length), at(lines, 0.95), at(lines, 1)],
  'lines of a function: p95, max': [at(functions, 0.95), at(functions, 1)],
  'largest folder in src and plugins': fullest(),
  'import cycles between files, with types and import()': findRings(sources).length,
  'import cycles between sibling folders': findFolderRings(sources.filter(({ file }) => file !== 'src/plugin.ts'))
    .length,
  'retired words in identifiers': sum([...retired.values()]),
}

if (process.argv.includes('--json'))
  console.log(JSON.stringify({ ...figures, ...counts, retired: Object.fromEntries(retired), call }, undefined, 2))
else for (const [what, value] of Object.entries(figures)) console.log(`${what.padEnd(48)} ${String(value)}`)
process.exit()

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

function fullest(): string {
  const counts = new Map<string, number>()
  for (const { file } of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  const [folder = '', count = 0] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? []
  return `${count} (${folder})`
}
