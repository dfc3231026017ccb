// Measures how the code is laid out: `npm run house`, `npm run house -- --json`. What is counted stands beside each figure.
import { Session } from 'node:inspector/promises'
import { dirname } from 'node:path/posix'
import { pathToFileURL } from 'node:url'
import { testClient, testGateway, testUpstream } from '../src/testing/index.ts'
import { findFolderRings, findRings } from '../test/guard/graph.ts'
import { readSources, ROOT } from '../test/guard/sources.ts'
import { retiredIn } from '../test/guard/words.ts'

const sources = readSources('src/**/*.ts', 'plugins/**/*.ts')
const lines = sources.map(source => source.lines).sort((a, b) => a - b)
const functions = sources.flatMap(source => source.functions.map(one => one.lines)).sort((a, b) => a - b)
const retired = new Map<string, number>()
for (const { file } of sources)
  for (const word of retiredIn(file)) retired.set(word, (retired.get(word) ?? 0) + 1)
const call = await filesOfCall()

const figures = {
  files: sources.length,
  'lines of code': sum(lines),
  'lines of a file: mean, p95, max': [Math.round(sum(lines) / lines.length), at(lines, 0.95), at(lines, 1)],
  'lines of a function: p95, max': [at(functions, 0.95), at(functions, 1)],
  'fullest folder of src and plugins': fullest(),
  'rings of files, with types and import()': findRings(sources).length,
  'rings of folders side by side': findFolderRings(sources.filter(({ file }) => file !== 'src/plugin.ts'))
    .length,
  'retired words in identifiers': sum([...retired.values()]),
  'files that a warm tools/call over HTTP runs': call.length,
}

if (process.argv.includes('--json'))
  console.log(JSON.stringify({ ...figures, retired: Object.fromEntries(retired), call }, undefined, 2))
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

/** The files of which a function ran during one call from a client over HTTP to a server over HTTP, when all was warm. */
async function filesOfCall(): Promise<string[]> {
  await using upstream = await testUpstream({ tools: { echo: () => 'hello' } })
  await using gateway = await testGateway({ upstreams: { web: upstream } })
  await using client = await testClient(gateway)
  const once = (): Promise<unknown> => client.request('tools/call', { name: 'web__echo', arguments: {} })
  for (let i = 0; i < 50; i++) await once()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await once()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const root = pathToFileURL(ROOT).href
  return result
    .filter(
      ({ url, functions }) =>
        url.startsWith(root) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(root.length))
    .filter(file => /^(src\/(?!testing\/)|plugins\/)/.test(file))
    .sort()
}
