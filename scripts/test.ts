/**
 * Runs the tests: `npm test` those that every change needs, `npm run test:all` the slow ones too, `-- --slow` those alone.
 * Words choose files by their path: `npm test -- unit/core e2e/cli`.
 *
 * - `x.slow.test.ts`, and the tests in examples: only in `npm run test:all`.
 * - `x.process.test.ts`: in a process of its own, as it changes or measures the process.
 * - All other files in test/unit share a process with the others of their room, a folder of test/unit or test/unit/plugins.
 * - Files outside of test/unit have a process each.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ROOMS = join(ROOT, 'node_modules/.cache/rooms')
const PATTERNS = ['test/**/*.test.ts', 'plugins/**/*.test.ts', 'examples/**/*.test.{ts,js}']
/** Files per process: amortizes loading, but keeps two cores busy. */
const MAX_ROOM_FILES = 40
/** Small folders share a process. */
const MIN_ROOM_FILES = 12
/** More than cores, as tests wait more than half of their time; with more, they exceed their times on a busy machine. */
const CONCURRENCY = Math.max(2, availableParallelism()) + 1

const flags = process.argv.slice(2).filter(word => word.startsWith('--'))
const words = process.argv.slice(2).filter(word => !word.startsWith('--'))
const isSlow = (file: string): boolean => file.startsWith('examples/') || file.endsWith('.slow.test.ts')
const isShared = (file: string): boolean => file.startsWith('test/unit/') && !/\.(slow|process)\.test\.ts$/.test(file)

const files = globSync(PATTERNS, { cwd: ROOT, exclude: ['**/node_modules'] })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => flags.includes('--all') || isSlow(file) === flags.includes('--slow'))
  .filter(file => words.length === 0 || words.some(word => file.includes(word)))
  .sort()
const programs = [...roomPrograms(files.filter(isShared)), ...files.filter(file => !isShared(file))]

const { status } = spawnSync(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    // Coverage of cached code is inexact.
    ...(flags.includes('--experimental-test-coverage') ? [] : ['--import', './test/fixtures/compile-cache.ts']),
    ...['--import', './test/fixtures/must-end.ts'],
    ...['--test', '--test-reporter=spec', `--test-concurrency=${CONCURRENCY}`, '--test-timeout=120000'],
    ...flags.filter(flag => flag !== '--all' && flag !== '--slow'),
    ...programs,
  ],
  { cwd: ROOT, stdio: 'inherit' },
)
process.exitCode = status ?? 1

/** Writes a program per room that runs its tests; returns the paths. */
function roomPrograms(shared: readonly string[]): string[] {
  rmSync(ROOMS, { recursive: true, force: true })
  mkdirSync(ROOMS, { recursive: true })
  return groupByRoom(shared).map(({ name, files }) => {
    const program = join(ROOMS, `${name}.test.mjs`)
    const loader = pathToFileURL(join(ROOT, 'test/fixtures/load-room.ts')).href
    writeFileSync(
      program,
      `import { loadRoom } from ${JSON.stringify(loader)}\nawait loadRoom(${JSON.stringify(files, undefined, 2)})\n`,
    )
    return program
  })
}

interface Room {
  readonly name: string
  readonly files: readonly string[]
}

function groupByRoom(shared: readonly string[]): Room[] {
  const rooms = Map.groupBy(shared, file => /^test\/unit\/((?:plugins\/)?[^/]+)/.exec(file)?.[1] ?? '')
  const large: Room[] = []
  let small: string[] = []
  for (const [room, members] of rooms) {
    const name = room.replace('/', '-')
    if (members.length < MIN_ROOM_FILES) small.push(...members)
    else large.push(...split(name, members))
    if (small.length >= MIN_ROOM_FILES) {
      large.push({ name: `to-${name}`, files: small })
      small = []
    }
  }
  return small.length === 0 ? large : [...large, { name: 'others', files: small }]
}

/** Splits into parts of similar size. */
function split(name: string, members: readonly string[]): Room[] {
  const count = Math.ceil(members.length / MAX_ROOM_FILES)
  const size = Math.ceil(members.length / count)
  return Array.from({ length: count }, (_, i) => ({
    name: count === 1 ? name : `${name}-${i + 1}`,
    files: members.slice(i * size, (i + 1) * size),
  }))
}
